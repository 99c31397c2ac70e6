import { table } from '../table.ts'
import type { StepCost } from './measure.ts'

const whole = (value: number) => Math.round(value).toLocaleString('en')

export function costTable(costs: readonly StepCost[]): string {
  const heads = ['one request, alone', 'statements', 'flushes', 'log, bytes', 'sent / received, bytes', 'served, ms']
  const rows = costs.map((cost) => [
    cost.name,
    cost.statements.toFixed(1),
    cost.flushes.toFixed(1),
    whole(cost.walBytes),
    `${whole(cost.sentBytes)} / ${whole(cost.receivedBytes)}`,
    cost.servedMs.toFixed(1),
    cost.serverMs.toFixed(1),
    cost.postgresMs.toFixed(1),
  ])
  return table([...heads, 'server, ms', 'PostgreSQL, ms'], rows)
}

export function growthTable(few: readonly StepCost[], many: readonly StepCost[], finished: number): string {
  const rows = few.map((cost, index) => {
    const later = many[index] ?? cost
    return [
      cost.name,
      cost.statementsMs.toFixed(2),
      later.statementsMs.toFixed(2),
      cost.servedMs.toFixed(1),
      later.servedMs.toFixed(1),
    ]
  })
  const beside = `beside ${whole(finished)} finished jobs`
  return table(['', 'statements, ms', beside, 'served, ms', beside], rows)
}
