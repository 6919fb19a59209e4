import { describe, expect, it, vi } from 'vitest';
import { pathOf, problemOf, USUAL } from './answer';

vi.mock('@kinvolk/headlamp-plugin/lib', () => ({ ApiProxy: {} }));

const forbidden =
  'Forbidden - services "affinity-extender-metrics:10281" is forbidden: User "bob" cannot get ' +
  'resource "services/proxy" in API group "" in the namespace "kube-system"';

describe('the path', () => {
  it('leads through the proxy of the API server', () => {
    expect(pathOf(USUAL, 'shop', 'web-0')).toBe(
      '/api/v1/namespaces/kube-system/services/affinity-extender-metrics:10281/proxy/explain' +
        '?namespace=shop&pod=web-0'
    );
  });

  it('has names that nothing else can be read from', () => {
    const place = { namespace: 'a/b', service: '../c', port: 'd?e' };
    expect(pathOf(place, 'x&y', 'z#')).toBe(
      '/api/v1/namespaces/a%2Fb/services/..%2Fc:d%3Fe/proxy/explain?namespace=x%26y&pod=z%23'
    );
  });
});

describe('a problem', () => {
  it.each([
    [404, 'Not Found - services "affinity-extender-metrics" not found', 'not installed'],
    [404, 'Not Found - no pod shop/web-0 that waits or runs', 'does not answer. Not Found - no pod'],
    [403, forbidden, 'the right to get services/proxy of Service kube-system/affinity-extender-'],
    [403, "Forbidden - 'k8s.example.com' is no name of this server", 'refuses the request'],
    [503, 'no endpoints available for service "affinity-extender-metrics"', 'No pod is behind'],
    [503, 'error trying to reach service: i/o timeout', 'does not answer. error trying'],
    [undefined, 'Failed to fetch', 'does not answer. Failed to fetch'],
  ])('%s %s', (status, message, said) => {
    const { title, todo } = problemOf({ status, message }, USUAL);
    expect(`${title} ${todo}`).toContain(said);
  });
});
