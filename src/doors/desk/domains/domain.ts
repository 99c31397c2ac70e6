// A domain is a URL's host: lower case, punycode, no default port, no trailing dot; `www` is kept. It may be on the list of domains
// that the owner may automate (domain-store.ts), or be a name reserved for examples, which is accepted and never fetched.

const RESERVED = /(?:^|\.)(?:example\.(?:com|org|net)|test|example)$/
const HOST =
  /^(?:\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*)(?::\d{1,5})?$/
const DOMAIN_CHARS_MAX = 260
const URL_CHARS_MAX = 2048

/** The page of a task that has none: a reserved name, which is never fetched. */
export const NO_PAGE = 'https://question.example/'

export interface Page {
  url: string
  domain: string
}

/** Null: not an http(s) URL with a plain host and no credentials. */
export function parsePage(text: string): Page | null {
  if (text.length > URL_CHARS_MAX || !URL.canParse(text)) return null
  const url = new URL(text)
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null
  const domain = hostOf(url)
  return HOST.test(domain) && domain.length <= DOMAIN_CHARS_MAX ? { url: url.href, domain } : null
}

/** A host as a person writes it: with or without a port, in any case and alphabet. */
export function parseDomain(text: string): string | null {
  if (/[\s/?#@\\]/.test(text)) return null
  const scheme = text.endsWith(':80') ? 'http' : 'https' // whichever has that default port
  return parsePage(`${scheme}://${text}/`)?.domain ?? null
}

/** The domain of a URL, or the domain itself. */
export const domainOf = (urlOrDomain: string): string | null =>
  /^https?:\/\//i.test(urlOrDomain) ? (parsePage(urlOrDomain)?.domain ?? null) : parseDomain(urlOrDomain)

/** What can be put on the list: a domain, or `*.` and a domain of at least two parts for all its subdomains. */
export function parseEntry(text: string): string | null {
  if (!text.startsWith('*.')) return parseDomain(text)
  const domain = parseDomain(text.slice(2))
  const isBroad = domain === null || !domain.replace(/:\d+$/, '').includes('.') || domain.startsWith('[')
  return isBroad ? null : `*.${domain}`
}

/** The entries of the list that would allow this domain. */
export function entriesFor(domain: string): string[] {
  const parts = domain.split('.')
  return [domain, ...parts.slice(1, -1).map((_, index) => `*.${parts.slice(index + 1).join('.')}`)]
}

export const isReserved = (domain: string): boolean => RESERVED.test(domain.replace(/:\d+$/, ''))

const hostOf = (url: URL): string => url.host.replace(/\.(?=$|:)/, '')
