// The judge as its users meet it: a server as `reeve up` starts it, with its embedded PostgreSQL and everything durable, and
// submissions over HTTP to a problem of ten tests, each waited for until its verdict is recorded. Beside them, in turns, what they
// cannot do without (floors.ts).

import { join } from 'node:path'
import { percentile } from '../statistics.ts'
import type { Submitter } from './submitters.ts'
import { boxSecondsOf, openField, PROBLEM, type Field } from './field.ts'
import { openFloorField } from './floors.ts'
import { missed } from './promises.ts'
import { jsonOf, lastOf, textOf, type Measured } from './report.ts'
import type { Part } from './suite.ts'
import { C_BEFORE, TESTS, WAYS, type Way } from './ways.ts'

const WARM_UP = 8
const WARM_UP_QUICK = 500 // until V8 has compiled what is hot
const ALONE = 5

export const measureSubmissions: Part = async (options, folder, teardown) => {
  const dataDir = join(folder, 'server')
  const field = await openField(dataDir, folder, teardown)
  const ways = WAYS.filter(({ language }) => options.languages.includes(language))
  for (const way of ways) await judgeMany(field, way, way.name === C_BEFORE ? WARM_UP_QUICK : WARM_UP)
  const headersFolder = join(dataDir, 'judge', 'headers')
  const floorField = await openFloorField({ folder, headersFolder, slots: field.slots }, teardown)
  const measured: Measured[] = []
  for (const way of ways) {
    const floor = (await way.floor?.(floorField, way.source)) ?? null
    const none = { perSecond: [], aloneMs: [], inBox: [], floorPerSecond: [], toFloor: [], compilingToFloor: [] }
    measured.push({ name: way.name, way, floor, ...none })
  }
  for (let repetition = 0; repetition < options.repetitions; repetition += 1) {
    for (const one of measured) {
      await measureOnce(field, one, options.submissions)
      noteCompiling(one, measured)
      console.error(`${repetition + 1}/${options.repetitions}  ${lastOf(one)}`)
    }
  }
  return { text: textOf(measured), json: measured.map(jsonOf), broken: missed(measured) }
}

async function measureOnce(field: Field, one: Measured, submissions: number): Promise<void> {
  const boxSeconds = await boxSecondsOf(field)
  const started = performance.now()
  await judgeMany(field, one.way, submissions)
  const seconds = (performance.now() - started) / 1000
  one.perSecond.push(submissions / seconds)
  one.inBox.push(((await boxSecondsOf(field)) - boxSeconds) / seconds / field.slots)
  const alone: number[] = []
  for (let n = 0; n < ALONE; n += 1) {
    const single = performance.now()
    await judgeMany(field, one.way, 1)
    alone.push(performance.now() - single)
  }
  one.aloneMs.push(percentile(alone, 50))
  if (one.floor === null) return
  const floorPerSecond = await one.floor.measure(submissions)
  one.floorPerSecond.push(floorPerSecond)
  one.toFloor.push((floorPerSecond * seconds) / submissions)
}

/** By how much longer a submission takes than one that was compiled before, to the time of the compiler alone. */
function noteCompiling({ way, perSecond, floorPerSecond, compilingToFloor }: Measured, all: readonly Measured[]): void {
  const [each, before, floor] = [
    perSecond.at(-1),
    all.find(({ name }) => name === way.compiledBefore)?.perSecond.at(-1),
    floorPerSecond.at(-1),
  ]
  if (each === undefined || before === undefined || floor === undefined) return
  compilingToFloor.push((1 / each - 1 / before) * floor)
}

async function judgeMany({ submitters, next }: Field, { language, source }: Way, count: number): Promise<void> {
  let left = count
  const judgeSome = async (submitter: Submitter) => {
    while (left > 0) {
      left -= 1
      await submitter.submit({ problem_id: PROBLEM, language, code: source(next()) }, TESTS)
    }
  }
  await Promise.all(submitters.map(judgeSome))
}
