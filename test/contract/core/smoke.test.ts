import test from 'node:test'
import { setup } from './setup.ts'
test('smoke', async (t) => {
  const { ask, account, lines } = await setup(t)
  const { token } = await account('root', ['ADMIN'])
  for (const url of ['/', '/healthz', '/readyz', '/api/health', '/metrics', '/docs', '/docs/json', '/nope', '/api/nope', '/auth/me', '/admin/status', '/admin/jobs', '/admin/users']) {
    const r = await ask({ url, token })
    console.log(url, r.statusCode, r.headers['content-type'], r.body.slice(0, 300))
  }
  const j = await ask({ method: 'POST', url: '/admin/jobs', token, payload: { kind: 'echo', payload: { a: 1 } } })
  console.log(j.statusCode, j.body)
  console.log((await ask({ url: `/admin/jobs/${j.json().job_id}`, token })).body)
  console.log(lines.slice(-5).join(''))
})
