// What Prometheus would read.
import assert from 'node:assert/strict'
import { until } from '../support/until.ts'

export async function scrape(url: string, path = '/metrics'): Promise<string> {
  const answer = await fetch(`${url}${path}`, { headers: { accept: 'text/plain' } })
  assert.equal(answer.status, 200)
  return answer.text()
}

/** A scrape in which no part is missing. A machine that pauses may make a sample too late for its scrape. */
export async function scrapeWhole(url: string, path = '/metrics'): Promise<string> {
  let text = ''
  await until('every part is read', async () => {
    text = await scrape(url, path)
    return !/^reeve_metrics_unavailable\{.*\} 1$/m.test(text)
  })
  return text
}

/** The value of a series with these labels, as it is written. */
export function valueOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): string | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const line = text
    .split('\n')
    .find((one) => new RegExp(`^${name}[ {]`).test(one) && wanted.every((part) => one.includes(part)))
  return line?.split(' ').at(-1)
}
