// What Prometheus would read.
import assert from 'node:assert/strict'

export async function scrape(url: string, path = '/metrics'): Promise<string> {
  const answer = await fetch(`${url}${path}`, { headers: { accept: 'text/plain' } })
  assert.equal(answer.status, 200)
  return answer.text()
}

/** The value of a series with these labels, as it is written. */
export function valueOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): string | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const line = text
    .split('\n')
    .find((one) => new RegExp(`^${name}[ {]`).test(one) && wanted.every((part) => one.includes(part)))
  return line?.split(' ').at(-1)
}
