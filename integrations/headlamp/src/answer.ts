import { ApiProxy } from '@kinvolk/headlamp-plugin/lib';

/**
 * Where the operations port is reached. By a port's number the API server says when there is no Service; by its name
 * only that nothing is behind it.
 */
export interface Place {
  namespace: string;
  service: string;
  port: string;
}

/** The Service that the component `servicemonitor` and the chart make. */
export const USUAL: Place = {
  namespace: 'kube-system',
  service: 'affinity-extender-metrics',
  port: '10281',
};

/** What of GET /explain is shown. */
export interface Answer {
  verdict: 'fits' | 'refused' | 'unknown';
  summary: string;
  unknown: { text: string }[];
  held: { text: string }[];
  nodeCount: number;
  fitting: number;
  nearMisses: { text: string }[];
  notes: { text: string }[];
  whatToDo?: string[];
}

/** Why there is no answer, and what can be done about it. */
export interface Problem {
  title: string;
  todo: string;
}

export function pathOf(place: Place, namespace: string, pod: string): string {
  const part = encodeURIComponent;
  const service = `${part(place.service)}:${part(place.port)}`;
  return (
    `/api/v1/namespaces/${part(place.namespace)}/services/${service}/proxy/explain` +
    `?namespace=${part(namespace)}&pod=${part(pod)}`
  );
}

/** Ask the extender through the API server; rejects with an Error that has a status. */
export async function ask(place: Place, cluster: string, namespace: string, pod: string) {
  const response: Response = await ApiProxy.request(
    pathOf(place, namespace, pod),
    { cluster, isJSON: false, timeout: 15_000 },
    false
  );
  return (await response.json()) as Answer;
}

/** Say what a failed request means; the text is the API server's, or the extender's. */
export function problemOf(error: { status?: number; message: string }, place: Place): Problem {
  const where = `Service ${place.namespace}/${place.service}`;
  const said = error.message;
  if (error.status === 404 && /services "[^"]*" not found/.test(said)) {
    return {
      title: 'The extender is not installed here.',
      todo: `There is no ${where}. If it has another name, set that in this plugin's settings; kubectl affinity explain needs no extender.`,
    };
  }
  if (error.status === 403 && said.includes('services/proxy')) {
    return {
      title: 'You may not ask the extender.',
      todo: `You need the right to get services/proxy of ${where}; kubectl affinity explain needs the right to list nodes, namespaces and pods instead.`,
    };
  }
  if (error.status === 403) {
    return { title: 'The extender refuses the request.', todo: said };
  }
  if (error.status === 503 && /no endpoints available/.test(said)) {
    return { title: 'No extender runs.', todo: `No pod is behind ${where}.` };
  }
  return { title: 'The extender does not answer.', todo: said };
}
