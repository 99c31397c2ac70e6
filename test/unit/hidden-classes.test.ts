// Objects that are made for each job share a hidden class of V8 (docs/performance.md, "Hidden classes").
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { requestFrom, storedFrom } from '../../src/core/deliveries/signed-request.ts'
import { addQuorum } from '../../src/doors/pool/quorum/quorum-rows.ts'
import { taskOf } from '../../src/doors/pool/tasks/kinds.ts'
import { addTask } from '../../src/doors/pool/tasks/task-rows.ts'

const TIMES = 200 // after a few V8 has given up to share the class of a literal that begins with a spread

setFlagsFromString('--allow-natives-syntax')
// oxlint-disable-next-line no-new-func -- the syntax is none until the flag is set
const haveSameClass = new Function('a', 'b', 'return %HaveSameMap(a, b)')

const haveOneClass = (make: (n: number) => object): boolean => {
  const made = Array.from({ length: TIMES }, (_, n) => make(n))
  return made.slice(-10).every((object) => haveSameClass(object, made.at(-1)) === true)
}

const payloadOf = (n: number) => ({
  job: `{"n":${n}}`,
  region: null,
  specs: null,
  replicas: 3,
  quorum: 2,
  callback_url: null,
  requires_hash: false,
  timeout_seconds: 60,
  max_attempts: 1,
  agree: null,
})
const signed = (n: number) => ({
  url: 'https://example.org/',
  body: `${n}`,
  subject: 's',
  accountId: n,
  requestId: `${n}`,
  isTrusted: false,
})

test('rows of tasks and of quorums, and stored requests, have one class each', () => {
  const options = { issued: 3, extraReplicas: 2 }

  assert(haveOneClass((n) => taskOf(`${n}`, n, payloadOf(n), { classId: n })))
  assert(haveOneClass((n) => addTask(taskOf(`${n}`, n, payloadOf(n), { classId: n })).row))
  assert(haveOneClass((n) => addQuorum(`${n}`, payloadOf(n), { classId: n }, options).row))
  assert(haveOneClass((n) => storedFrom(signed(n))))
  assert(haveOneClass((n) => requestFrom(storedFrom(signed(n)))))
})

test('what is given to a transition, or to an effect as its row, does not begin with a spread', () => {
  const transition = /\bledger\.(?:submit|acquire|renew|finalize|release|fail)\(\{\s*\.\.\./
  const effect = /\brow: \{\s*\.\.\./
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const texts = files.map((file) => ({ file, text: readFileSync(`src/${file}`, 'utf8') }))

  assert.deepEqual(
    texts.filter(({ text }) => transition.test(text) || effect.test(text)).map(({ file }) => file),
    [],
  )
})
