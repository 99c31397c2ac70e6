import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SLOT_MS, Timed, Wheel } from '../../src/doors/arena/engine/wheel.ts'

class Task extends Timed {
  readonly ranAt: number[] = []
  onRun: (now: number) => void = () => {}

  override run(now: number): void {
    this.ranAt.push(now)
    this.onRun(now)
  }
}

function setup() {
  let time = 1000
  const late: number[] = []
  const wheel = new Wheel({ now: () => time, onSlot: (lateMs) => late.push(lateMs) })
  const pass = (ms: number) => {
    time += ms
    wheel.turn()
  }
  return { wheel, pass, late, now: () => time }
}

describe('the timing wheel', () => {
  test('nothing runs early, and nothing later than its slot when the wheel turns in time', (t) => {
    const { wheel, pass } = setup()
    t.after(() => wheel.stop())
    const tasks = Array.from({ length: 500 }, () => new Task())
    tasks.forEach((task, index) => wheel.addAt(task, 1000 + index * 3.7))

    for (let n = 0; n < 2000; n += 1) pass(1)

    tasks.forEach(({ ranAt }, index) => {
      const wanted = 1000 + index * 3.7
      assert.equal(ranAt.length, 1, `task ${index}`)
      const [at = 0] = ranAt
      assert(at >= wanted && at < wanted + 2 * SLOT_MS, `${at} instead of ${wanted}`)
    })
    assert.equal(wheel.size, 0)
  })

  test('what is due later than the wheel is large goes round, and runs once', (t) => {
    const { wheel, pass } = setup()
    t.after(() => wheel.stop())
    const task = new Task()
    wheel.addAt(task, 1000 + 65_000)

    for (let n = 0; n < 6500; n += 1) pass(10)

    assert.deepEqual(task.ranAt, [66_000])
  })

  test('a task that comes again keeps its beat although each turn is late', (t) => {
    const { wheel, pass } = setup()
    t.after(() => wheel.stop())
    const task = new Task()
    let due = 1100
    task.onRun = () => wheel.addAt(task, (due += 100))
    wheel.addAt(task, due)

    for (let n = 0; n < 100; n += 1) pass(n % 2 === 0 ? 13 : 87)

    assert.equal(task.ranAt.length, Math.floor((100 * 50) / 100))
    assert.equal(due, 1100 + 100 * task.ranAt.length)
  })

  test('one turn does not go on with what became due while it ran: others get their turn', (t) => {
    const { wheel, pass } = setup()
    t.after(() => wheel.stop())
    const task = new Task()
    task.onRun = (now) => wheel.addAt(task, now) // as soon as possible, for ever
    wheel.addAt(task, 1000)

    pass(1000)

    assert(task.ranAt.length <= 1000 / SLOT_MS + 1)
  })

  test('many sessions that begin at one moment are spread evenly over an interval', (t) => {
    const { wheel } = setup()
    t.after(() => wheel.stop())
    const counts = new Map<number, number>()

    for (let n = 0; n < 4000; n += 1) {
      const moment = wheel.sharedMoment(1100, 100)
      wheel.addAt(new Task(), moment)
      counts.set(moment, (counts.get(moment) ?? 0) + 1)
    }

    assert.equal(counts.size, 100 / SLOT_MS)
    for (const count of counts.values()) assert.equal(count, 4000 / (100 / SLOT_MS))
  })

  test('few sessions tick together, whenever they began', (t) => {
    const { wheel, pass, now } = setup()
    t.after(() => wheel.stop())
    const tasks = Array.from({ length: 50 }, () => new Task())
    for (const task of tasks) {
      let due = wheel.sharedMoment(now() + 100, 100)
      task.onRun = () => wheel.addAt(task, (due += 100))
      wheel.addAt(task, due)
      pass(37)
    }

    for (let n = 0; n < 40; n += 1) pass(5) // all have begun
    for (const task of tasks) task.ranAt.length = 0
    for (let n = 0; n < 20; n += 1) pass(5)

    assert.equal(new Set(tasks.flatMap(({ ranAt }) => ranAt)).size, 1)
    assert(tasks.every(({ ranAt }) => ranAt.length === 1))
  })

  test('tasks that need no exact time run at most 100 ms after it, in every twentieth slot', (t) => {
    const { wheel, pass } = setup()
    t.after(() => wheel.stop())
    const tasks = Array.from({ length: 300 }, () => new Task())
    tasks.forEach((task, index) => wheel.addLoosely(task, 1200 + index))

    for (let n = 0; n < 200; n += 1) pass(5)

    tasks.forEach(({ ranAt: [at = 0] }, index) => assert(at >= 1200 + index && at < 1300 + index, `${at}`))
    assert.deepEqual([...new Set(tasks.flatMap(({ ranAt }) => ranAt))], [1200, 1300, 1400, 1500])
  })

  test('an idle wheel does not make up for the time it stood still', (t) => {
    const { wheel, pass, late } = setup()
    t.after(() => wheel.stop())
    pass(3_600_000)
    const task = new Task()
    wheel.addAt(task, 1000 + 3_600_000 + 50)

    pass(50)

    assert.equal(task.ranAt.length, 1)
    assert(late.every((ms) => ms < 2 * SLOT_MS))
  })
})
