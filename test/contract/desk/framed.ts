// A site, a task for it that an operator holds, and its frame, opened as the console opens it.
import type http from 'node:http'
import type { TestContext } from 'node:test'
import { staffed, type SetupOptions } from './setup.ts'
import { ask, startSite } from './site.ts'

export const TASKS = '/api/v1/captcha/tasks'

type Staffed = Awaited<ReturnType<typeof staffed>>

export async function framed(t: TestContext, answer: http.RequestListener, options: SetupOptions = {}) {
  const site = await startSite(t, answer)
  const desk = await staffed(t, options)
  const allow = (domain: string) => desk.admin.post('/api/v1/captcha/domains', { domain, reason: 'a test' })
  await allow(site.domain)
  const task = await desk.create({ url: `http://${site.domain}/shop/cart?x=1`, user_agent: 'Agent/7' })
  await desk.assign(task.uuid)
  const frame = await opened(desk, task.uuid)
  return { ...desk, site, task, allow, ...frame }
}

/** As the console opens it, and a browser that keeps its cookie goes on. */
export async function opened({ url, operator }: Pick<Staffed, 'url' | 'operator'>, uuid: string) {
  const { body } = await operator.post(`${TASKS}/${uuid}/frame`)
  const exchanged = await ask(url, body.url)
  const [cookie = ''] = exchanged.headers['set-cookie']?.[0]?.split(';') ?? []
  const open = (address: string, { headers = {}, ...more }: Parameters<typeof ask>[2] = {}) =>
    ask(url, new URL(address, body.url).href, { ...more, headers: { cookie, ...headers } })
  return { ticketUrl: String(body.url), frameUrl: `/internal/solver-frame/${uuid}`, exchanged, cookie, open }
}

export const page: http.RequestListener = (request, response) => {
  if (request.url?.startsWith('/style.css') === true)
    return response
      .setHeader('content-type', 'text/css')
      .end('a{background:url(/a.png)} b{background:url("b.png")} @import "/c.css";')
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.setHeader('content-security-policy', `default-src 'none'; frame-ancestors 'none'`)
  response.setHeader('x-frame-options', 'DENY')
  response.setHeader('strict-transport-security', 'max-age=1')
  if (request.url?.startsWith('/shop/') === true)
    response.setHeader('set-cookie', ['page=from-the-site; Path=/; HttpOnly', 'other=2; Max-Age=600; Secure'])
  return response.end(
    `<!doctype html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><title>Shop</title></head>
     <a href="/next?y=2" target="_top" ping="/p">n</a><img src="pic.png" srcset="/s1.png 1x, s2.png 2x">
     <form action="/login" method="post"></form><a href="https://elsewhere.org/x">e</a><a href="mailto:a@b.c">m</a>
     <style>i{background:url(/i.png)}</style><iframe src="/inner"></iframe><p style="background:url('/p.png')">p</p>
     <script>var a = "</a>"</script>`,
  )
}
