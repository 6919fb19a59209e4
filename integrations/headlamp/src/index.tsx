import {
  ConfigStore,
  DefaultDetailsViewSection,
  PluginSettingsDetailsProps,
  registerDetailsViewSectionsProcessor,
  registerPluginSettings,
} from '@kinvolk/headlamp-plugin/lib';
import { Loader, NameValueTable, SectionBox } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { Alert, TextField, Typography } from '@mui/material';
import { useEffect, useState } from 'react';
import { Answer, ask, Place, problemOf, USUAL } from './answer';

const NAME = 'affinity-extender';
const ID = `${NAME}-explain`;
const store = new ConfigStore<Partial<Place>>(NAME);
const usePlace = store.useConfig();

/** The parts of Headlamp's Pod that are read. */
interface Pod {
  kind: string;
  cluster: string;
  getName(): string;
  getNamespace(): string;
  jsonData: { spec?: { nodeName?: string }; metadata: { uid: string; resourceVersion?: string } };
}

type Asked = { answer?: Answer; error?: Error & { status?: number } };

function Why({ pod }: { pod: Pod }) {
  const place = { ...USUAL, ...usePlace() };
  const [asked, setAsked] = useState<Asked>({});
  const { uid, resourceVersion } = pod.jsonData.metadata;

  useEffect(() => {
    let current = true;
    ask(place, pod.cluster, pod.getNamespace(), pod.getName()).then(
      answer => current && setAsked({ answer }),
      error => current && setAsked({ error })
    );
    return () => {
      current = false;
    };
    // The scheduler writes into the pod's status each time it has refused it.
  }, [uid, resourceVersion, place.namespace, place.service, place.port]);

  return (
    <SectionBox title="Why this pod waits">
      {asked.answer ? (
        <Told answer={asked.answer} />
      ) : asked.error ? (
        <Failed error={asked.error} place={place} />
      ) : (
        <Loader title="Asking the extender" />
      )}
    </SectionBox>
  );
}

const SEVERITY = { fits: 'success', refused: 'error', unknown: 'warning' } as const;

function verdictOf({ verdict, fitting, nodeCount, held }: Answer): string {
  const nodes = `${nodeCount} ${nodeCount === 1 ? 'node' : 'nodes'}`;
  if (held.length) return 'No scheduler looks at it.';
  if (verdict === 'refused') return `It fits on none of ${nodes}.`;
  return `It ${verdict === 'fits' ? 'fits' : 'may fit'} on ${fitting} of ${nodes}.`;
}

function Told({ answer }: { answer: Answer }) {
  const todo = answer.whatToDo ?? [];
  const rows = [
    { name: 'Reasons', value: <Lines of={[...texts(answer.held), ...answer.summary.split('; ')]} /> },
    { name: 'Not known', value: <Lines of={texts(answer.unknown)} />, hide: !answer.unknown.length },
    { name: 'What to do', value: <Lines of={todo} />, hide: !todo.length },
    {
      name: 'It would fit on',
      value: <Lines of={texts(answer.nearMisses)} />,
      hide: !answer.nearMisses.length,
    },
    { name: 'Notes', value: <Lines of={texts(answer.notes)} />, hide: !answer.notes.length },
  ];
  return (
    <>
      <Alert severity={SEVERITY[answer.verdict]}>{verdictOf(answer)}</Alert>
      <NameValueTable rows={rows} />
    </>
  );
}

function texts(of: { text: string }[]): string[] {
  return of.map(each => each.text);
}

function Lines({ of }: { of: string[] }) {
  return (
    <>
      {of.map(each => (
        <Typography key={each} variant="body2">
          {each}
        </Typography>
      ))}
    </>
  );
}

function Failed({ error, place }: { error: Error & { status?: number }; place: Place }) {
  const { title, todo } = problemOf(error, place);
  return (
    <Alert severity="warning">
      {title} {todo}
    </Alert>
  );
}

function Settings({ data, onDataChange }: PluginSettingsDetailsProps) {
  const place: Place = { ...USUAL, ...data };
  return (
    <>
      {(['namespace', 'service', 'port'] as const).map(each => (
        <TextField
          key={each}
          label={`${each[0].toUpperCase()}${each.slice(1)} of the extender's operations port`}
          value={place[each]}
          onChange={event => onDataChange?.({ ...place, [each]: event.target.value })}
          fullWidth
          margin="normal"
        />
      ))}
    </>
  );
}

registerPluginSettings(NAME, Settings, true);

registerDetailsViewSectionsProcessor((resource, sections) => {
  const pod = resource as unknown as Pod | null;
  const header = sections.findIndex(
    each => (each as { id?: string } | null)?.id === DefaultDetailsViewSection.MAIN_HEADER
  );
  const shown = sections.some(each => (each as { id?: string } | null)?.id === ID);
  if (pod?.kind !== 'Pod' || pod.jsonData.spec?.nodeName || header < 0 || shown) {
    return sections;
  }
  return [
    ...sections.slice(0, header + 1),
    { id: ID, section: <Why key={pod.jsonData.metadata.uid} pod={pod} /> },
    ...sections.slice(header + 1),
  ];
});
