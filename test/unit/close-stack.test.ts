import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CloseStack } from '../../src/core/concurrency/close-stack.ts'
import { openLog } from '../../src/core/log/log.ts'

function setup() {
  const lines: { part?: string; msg: string; err?: { message: string } }[] = []
  const log = openLog({ LOG_LEVEL: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const closed: string[] = []
  const stack = new CloseStack(log)
  const push = (name: string) => stack.push(name, () => void closed.push(name))
  return { stack, push, closed, lines }
}

test('parts close in reverse order, each after the one before it has settled', async () => {
  const { stack, push, closed } = setup()
  push('database')
  let release = () => {}
  stack.push('loops', () => new Promise<void>((resolve) => (release = resolve)))
  push('listener')

  const closing = stack.close()
  await new Promise(setImmediate)
  assert.deepEqual(closed, ['listener'])
  release()
  await closing

  assert.deepEqual(closed, ['listener', 'database'])
})

test('a part that rejects or throws is logged, and the parts below it close', async () => {
  const { stack, push, closed, lines } = setup()
  push('database')
  stack.push('feed', () => Promise.reject(new Error('no answer')))
  stack.push('bus', () => {
    throw new Error('broken')
  })

  await stack.close()

  assert.deepEqual(closed, ['database'])
  assert.deepEqual(
    lines.map(({ part, msg, err }) => [part, msg, err?.message]),
    [
      ['bus', 'close failed', 'broken'],
      ['feed', 'close failed', 'no answer'],
    ],
  )
})

test('closing again waits for the first and closes nothing twice', async () => {
  const { stack, push, closed } = setup()
  push('database')

  await Promise.all([stack.close(), stack.close()])

  assert.deepEqual(closed, ['database'])
})
