import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Alarm, ALARM_STEP_MS } from '../../src/doors/arena/engine/alarm.ts'
import { Wheel } from '../../src/doors/arena/engine/wheel.ts'

test('alarms ring in time, and a million joins and cancels leave no more of them than there are steps', (t) => {
  let time = 1000
  const wheel = new Wheel({ now: () => time })
  t.after(() => wheel.stop())
  const rung: number[] = []
  const alarm = new Alarm(wheel, () => rung.push(time))

  for (let n = 0; n < 1_000_000; n += 1) alarm.setFor(time + 1000 + (n % 10_000))
  const waiting = wheel.size
  for (; time < 13_000; time += 5) wheel.turn()
  alarm.setFor(time + 10)
  const setAgain = wheel.size

  assert(waiting <= 10_000 / ALARM_STEP_MS + 1, `${waiting} wait`)
  assert.equal(rung.length, waiting)
  const [first = 0] = rung
  assert(first >= 2000 && first <= 2000 + ALARM_STEP_MS + 5, `${first}`)
  assert.equal(setAgain, 1)
})
