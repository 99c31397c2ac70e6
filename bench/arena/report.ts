import { machineLine, type Machine } from '../machine.ts'
import { table } from '../table.ts'
import { LATE_MS_MAX, TRIES_MAX, type Capacity, type Step } from './capacity.ts'
import type { Options } from './options.ts'
import type { Cost } from './processor.ts'
import { ratiosOf } from './promises.ts'
import type { Outcome } from './suite.ts'

export function report(machine: Machine, options: Options, outcome: Outcome): { text: string; json: unknown } {
  return { text: textOf(machine, options, outcome), json: { machine, options, outcome } }
}

function textOf(
  machine: Machine,
  options: Options,
  { costs, reeve, colyseus, plain, bare, pairing, leaderboard }: Outcome,
): string {
  const sides = [
    { title: 'Reeve', capacity: reeve },
    { title: 'Colyseus', capacity: colyseus },
    { title: 'Plain ws', capacity: plain },
    { title: 'Bare ws', capacity: bare },
  ].flatMap(({ title, capacity }) => (capacity === null ? [] : [{ title, capacity }]))
  const parts = [
    `Machine: ${machineLine(machine)}.`,
    costs === null ? '' : costsTable(costs),
    sides.length === 0
      ? ''
      : `One server process on one core, the load and PostgreSQL on another. Two players a session, 10 states a second, 5 inputs a ` +
        `second from each player.\nHeld: 99 of 100 states less than ${LATE_MS_MAX} ms late as the clients see it, for ${options.measureMs / 1000} s, ` +
        `nobody disconnected; the best of ${TRIES_MAX} tries.`,
    ...sides.map(({ title, capacity }) => stepsTable(title, capacity.steps)),
    sides.length === 0 ? '' : heldTable(sides),
    ratioLine('Colyseus', reeve, colyseus),
    ratioLine('plain ws', reeve, plain),
    ratioLine('the bare server', reeve, bare),
    pairing === null
      ? ''
      : `Pairing: ${pairing.players.toLocaleString('en')} queued players in ${pairing.pairedMs.toFixed(0)} ms; all matches running after ` +
        `${pairing.runningMs.toFixed(0)} ms.`,
    leaderboard === null
      ? ''
      : `Leaderboard of ${leaderboard.accounts.toLocaleString('en')} accounts, pages of 50 from the first to the last, over HTTP (each the median of three): p50 ` +
        `${leaderboard.p50.toFixed(1)} ms, p99 ${leaderboard.p99.toFixed(1)} ms, slowest page ${leaderboard.max.toFixed(1)} ms.`,
  ]
  return `\n${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function stepsTable(title: string, steps: readonly Step[]): string {
  const head = [
    `${title}: sessions`,
    'held',
    'late p50, ms',
    'p99, ms',
    'slowest, ms',
    'states/s',
    'CPU, %',
    'memory, MB',
  ]
  return table(
    head,
    steps.map((step) => [
      step.sessions.toLocaleString('en'),
      step.isHeld ? 'yes' : 'no',
      step.p50.toFixed(1),
      step.p99.toFixed(1),
      step.max.toFixed(1),
      step.statesPerSocket.toFixed(2),
      step.cpuPercent.toFixed(0),
      step.rssMb.toFixed(0),
    ]),
  )
}

function costsTable(costs: readonly Cost[]): string {
  const ratioOf = new Map(ratiosOf(costs).map(({ title, ratio }) => [title, ratio]))
  return table(
    ['all at the same time', 'sessions', 'CPU idle, %', 'CPU per 1,000 more, %', 'times Reeve', 'memory per 1,000, MB'],
    costs.map(({ title, sessions, idlePercent, cpuPercent, memoryMb }) => [
      title,
      sessions.toLocaleString('en'),
      idlePercent.toFixed(1),
      cpuPercent.toFixed(1),
      ratioOf.get(title)?.toFixed(2) ?? '1',
      memoryMb.toFixed(0),
    ]),
  )
}

function heldTable(sides: readonly { title: string; capacity: Capacity }[]): string {
  return table(
    ['', 'sessions held', 'CPU per 1,000 sessions, %', 'memory per 1,000 sessions, MB'],
    sides.map(({ title, capacity: { held, emptyRssMb } }) => [
      title,
      held === null ? 'none' : held.sessions.toLocaleString('en'),
      held === null ? '' : ((held.cpuPercent * 1000) / held.sessions).toFixed(0),
      held === null ? '' : (((held.rssMb - emptyRssMb) * 1000) / held.sessions).toFixed(0),
    ]),
  )
}

function ratioLine(name: string, reeve: Capacity | null, other: Capacity | null): string {
  const ours = reeve?.held?.sessions
  const theirs = other?.held?.sessions
  return ours === undefined || theirs === undefined
    ? ''
    : `Sessions held, Reeve / ${name}: ${(ours / theirs).toFixed(1)}×.`
}
