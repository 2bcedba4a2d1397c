/** What the chart has of deploy/, from where to where. */
export const copiedFiles = [
  ['deploy/prometheus/rules.yaml', 'helm/weir/files/monitoring/rules.yaml'],
  ['deploy/grafana/weir-overview.json', 'helm/weir/files/monitoring/weir-overview.json'],
  ['deploy/grafana/weir-policies.json', 'helm/weir/files/monitoring/weir-policies.json'],
] as const
