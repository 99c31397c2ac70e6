import { Agent, request } from 'node:http'

export interface Address {
  host: string
  port: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 20 })

/** The body of a 200; anything else is an error. */
export function post(
  { host, port }: Address,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const all = { 'content-type': 'application/json', accept: 'application/json', ...headers }
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host, port, path, method: 'POST', headers: all }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text)
        else reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 200)}`))
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
