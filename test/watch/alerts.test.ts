// deploy/prometheus and deploy/grafana against what the server really exports: every metric that an expression names is in a
// scrape, promtool evaluates every expression on the scraped series, and every alert fires when its series say so.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { startReeve } from '../support/reeve.ts'
import { temporaryFolder } from '../support/servers.ts'
import { scrapeWhole } from './scrape.ts'

const RULES = 'deploy/prometheus/reeve-alerts.yml'
const DASHBOARD = 'deploy/grafana/reeve-dashboard.json'

const isMissing = spawnSync('promtool', ['--version']).error !== undefined
const skip = isMissing ? "there is no promtool here: Debian's package `prometheus` has it" : false

interface Rule {
  alert: string
  expr: string
}
const rules: Rule[] = parse(readFileSync(RULES, 'utf8')).groups.flatMap((group: { rules: Rule[] }) => group.rules)

interface Panel {
  targets?: { expr: string }[]
}
const panels: Panel[] = JSON.parse(readFileSync(DASHBOARD, 'utf8')).panels
const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Names of metrics in an expression: what is no function, no keyword, no label. */
const FUNCTIONS =
  /\b(max|min|sum|rate|increase|time|topk|histogram_quantile|label_replace|by|and|or|on|unless|bool|le|e\d+)\b/g
const namesIn = (expr: string): string[] => [
  ...new Set(
    expr
      .replace(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, ' ')
      .replace(/\b(by|on) \([^)]*\)/g, ' ')
      .replace(FUNCTIONS, ' ')
      .match(/[a-z]\w{2,}/g) ?? [],
  ),
]

/** One row per alert: series of the scrape (their labels are real) and the values that make it fire. */
const FIRING: Readonly<Record<string, readonly [series: string, values: string][]>> = {
  ReeveProcessDown: [['up', '0x200']],
  ReeveJobsWaitTooLong: [['reeve_jobs_oldest_waiting_seconds{kind="echo"}', '700x200']],
  ReevePeopleWaitTooLong: [['reeve_jobs_oldest_waiting_seconds{kind="pool"}', '4000x200']],
  ReeveJobsDie: [['reeve_jobs_dead_total{kind="echo",outcome="failed"}', '0+1x200']],
  ReeveOutboxLags: [['reeve_outbox_lag_seconds{topic="event"}', '400x200']],
  ReeveFeedLags: [['reeve_feed_lag_seconds{kind="echo"}', '400x200']],
  ReeveNoWorker: [
    ['reeve_jobs{kind="echo",state="waiting"}', '1x200'],
    ['worker_slots{kind="echo"}', '0x200'],
  ],
  ReeveNoPoolWorker: [
    ['pool_tasks{state="waiting"}', '1x200'],
    ['pool_workers{state="online"}', '0x200'],
  ],
  ReeveDeadLetters: [['reeve_outbox_dead{topic="pool_callback"}', '1x200']],
  ReeveLongTransaction: [['reeve_database_longest_transaction_seconds', '400x200']],
  ReeveVacuumLags: [
    ['reeve_table_dead_rows{table="jobs"}', '2000000x200'],
    ['reeve_table_rows{table="jobs"}', '100x200'],
  ],
  ReeveDiskFull: [
    ['reeve_disk_free_bytes', '5x200'],
    ['reeve_disk_total_bytes', '100x200'],
  ],
  ReeveBackupOld: [['reeve_last_backup_timestamp_seconds', '0x3000']],
  ReeveMetricsUnavailable: [['reeve_metrics_unavailable{part="jobs"}', '1x200']],
  ReeveEventLoopBlocked: [['nodejs_eventloop_lag_p99_seconds', '2x200']],
  ReeveConnectionsExhausted: [['reeve_database_waiting{pool="hot"}', '100x200']],
}

/** Two days after 1970, at which promtool begins to count. */
const LATE = '48h'

describe('alert rules and dashboard', { skip }, () => {
  test('every metric that they name is in a scrape of the server', async (t) => {
    const { text } = await world(t)
    const exported = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map((match) => match[1]))

    const named = [...rules.map(({ expr }) => expr), ...shown].flatMap(namesIn)

    const unknown = named.filter((name) => name !== 'up' && !exported.has(name.replace(/_bucket$/, '')))
    assert.deepEqual(unknown, [])
    assert(named.length > 40)
  })

  test('promtool reads the rules and the sample configuration', () => {
    promtool(['check', 'rules', RULES])
    promtool(['check', 'config', 'deploy/prometheus/prometheus.yml'])
  })

  test('no alert fires, and the dashboard has values, on the series of a healthy server', async (t) => {
    const { text, series, folder } = await world(t)
    const known = new Set(series.map((one) => /^\w+/.exec(one.series)?.[0]))
    const recorded = shown
      .filter((expr) => !expr.endsWith('> 0') && namesIn(expr).every((name) => known.has(name)))
      .map((expr, index) => ({ record: `panel:${index}`, expr }))
    assert(recorded.length > shown.length / 2, 'most panels have series on an idle server')
    const panelRules = await save(folder, 'panels.yml', { groups: [{ name: 'panels', rules: recorded }] })

    const well = [
      { series: 'up{job="reeve",instance="a:1"}', values: '1x200' },
      ...series.map((one) => ({ ...one, values: wellValue(one.series) ?? one.values })),
    ]
    await testRules(
      folder,
      [join(process.cwd(), RULES), panelRules],
      [
        {
          interval: '1m',
          input_series: well,
          alert_rule_test: rules.map(({ alert }) => ({ eval_time: '60m', alertname: alert, exp_alerts: [] })),
          promql_expr_test: recorded.map(({ record }) => ({
            expr: `count({__name__="${record}"}) > bool 0`,
            eval_time: '60m',
            exp_samples: [{ labels: '{}', value: 1 }],
          })),
        },
      ],
    )
    assert.match(text, /^# TYPE worker_slots gauge$/m)
  })

  test('every alert fires when its series say so', async (t) => {
    const { series, folder } = await world(t)
    assert.deepEqual(Object.keys(FIRING).sort(), rules.map(({ alert }) => alert).sort())

    const tests = rules.map(({ alert, expr }) => {
      const changed = (FIRING[alert] ?? []).map(([wanted, values]) => ({ series: realSeries(series, wanted), values }))
      const names = new Set(changed.map((one) => one.series))
      const others = series.filter((one) => namesIn(expr).includes(/^\w+/.exec(one.series)?.[0] ?? ''))
      return {
        interval: '1m',
        input_series: [...others.filter((one) => !names.has(one.series)), ...changed],
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) >= bool 1`,
            eval_time: alert === 'ReeveBackupOld' ? LATE : '60m',
            exp_samples: [{ labels: '{}', value: 1 }],
          },
        ],
      }
    })
    await testRules(folder, [join(process.cwd(), RULES)], tests)
  })
})

/** A server of every door but the judge, which needs a sandbox and exports the same names, and what it exports. */
async function world(t: TestContext) {
  const { url } = await startReeve(t, { role: 'serve' })
  await fetch(`${url}/healthz`)
  const text = await scrapeWhole(url, '/metrics/prometheus')
  const series = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ series: watched(line.slice(0, line.lastIndexOf(' '))), values: steady(line) }))
  return { text, series, folder: await temporaryFolder(t) }
}

/** As Prometheus stores it: with the labels of its target. */
function watched(series: string): string {
  const labels = 'job="reeve",instance="a:1"'
  return series.includes('{') ? series.replace('{', `{${labels},`) : `${series}{${labels}}`
}

const steady = (line: string): string => {
  const value = Number(line.slice(line.lastIndexOf(' ') + 1))
  return `${Number.isFinite(value) ? value : 0}x200`
}

/** In place of what depends on the machine of the test. */
function wellValue(series: string): string | null {
  if (series.startsWith('worker_slots{')) return '1x200'
  if (series.startsWith('nodejs_eventloop_lag_')) return '0.01x200'
  return series.startsWith('reeve_disk_free_bytes{') ? '1e18x200' : null
}

function realSeries(series: readonly { series: string }[], wanted: string): string {
  if (wanted === 'up') return 'up{job="reeve",instance="a:1"}'
  const [name = '', labels = ''] = wanted.split(/[{}]/)
  const parts = labels === '' ? [] : labels.split(',')
  const found = series.find(
    (one) => one.series.startsWith(`${name}{`) && parts.every((part) => one.series.includes(part)),
  )
  assert(found !== undefined, `the server exports no ${wanted}`)
  return found.series
}

async function testRules(folder: string, ruleFiles: readonly string[], tests: readonly object[]): Promise<void> {
  const file = await save(folder, 'test.yml', {
    rule_files: ruleFiles,
    evaluation_interval: '5m',
    tests,
  })
  promtool(['test', 'rules', file])
}

/** YAML is a superset of JSON. */
async function save(folder: string, name: string, content: object): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, JSON.stringify(content))
  return file
}

function promtool(args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
  assert.equal(status, 0, `promtool ${args.join(' ')}\n${stdout}\n${stderr}`)
}
