// The built-in kind: it returns its payload. For tests, benchmarks and a first try of a new deployment. Fields of the payload
// cause failures: { "sleep_ms": 500, "fail": "why", "fail_until_attempt": 3, "final": true, "crash": true }.
import { setTimeout as sleep } from 'node:timers/promises'
import { JobFailed, type Kind } from './kind.ts'

const SLEEP_MS_MAX = 3_600_000

export const echo: Kind = {
  name: 'echo',
  forgetResults: async (_tx, jobIds) => jobIds,
  async run({ payload, attemptId }, { signal }) {
    const wish = wishOf(payload)
    if (wish.sleepMs > 0) await sleep(wish.sleepMs, undefined, { signal })
    if (wish.crash) process.kill(process.pid, 'SIGKILL')
    if (wish.fail !== null && attemptId < wish.failUntilAttempt) throw new JobFailed(wish.fail, { final: wish.final })
    return { result: payload }
  },
}

function wishOf(payload: unknown) {
  const asked: Record<string, unknown> = typeof payload === 'object' && payload !== null ? { ...payload } : {}
  const number = (name: string, or: number) => (typeof asked[name] === 'number' ? asked[name] : or)
  return {
    sleepMs: Math.min(SLEEP_MS_MAX, number('sleep_ms', 0)),
    fail: typeof asked['fail'] === 'string' ? asked['fail'] : null,
    failUntilAttempt: number('fail_until_attempt', Infinity),
    final: asked['final'] === true,
    crash: asked['crash'] === true,
  }
}
