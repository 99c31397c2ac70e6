// What one has typed for a task, kept until it is handed in: a reload, a lost connection or a look at another task loses nothing. It
// holds cookies of strangers' sites, so that it lives in the tab's own storage and not on the disk for good.
import type { DeskCookie, DeskSolution, DeskTask } from '@reeve/sdk'
import { useState } from 'react'

const PREFIX = 'reeve.desk.draft.'

export type DraftKind = 'cookie' | 'token' | 'session'

export interface CookieRow extends DeskCookie {
  /** Of the row, for the page. */
  key: number
}

export interface Draft {
  kind: DraftKind
  cookies: readonly CookieRow[]
  token: string
  session: string
  answers: Readonly<Record<string, string | readonly string[]>>
  notes: string
  userAgent: string
}

const BLANK: Draft = { kind: 'cookie', cookies: [], token: '', session: '', answers: {}, notes: '', userAgent: '' }

export function useDraft(uuid: string): [draft: Draft, change: (part: Partial<Draft>) => void] {
  const [held, setHeld] = useState({ uuid, draft: stored(uuid) })
  const current = held.uuid === uuid ? held : { uuid, draft: stored(uuid) }
  if (current !== held) setHeld(current)
  const change = (part: Partial<Draft>) => {
    setHeld(({ draft }) => {
      const next = { ...draft, ...part }
      sessionStorage.setItem(PREFIX + uuid, JSON.stringify(next))
      return { uuid, draft: next }
    })
  }
  return [current.draft, change]
}

export const dropDraft = (uuid: string): void => sessionStorage.removeItem(PREFIX + uuid)

function stored(uuid: string): Draft {
  const text = sessionStorage.getItem(PREFIX + uuid)
  return text === null ? BLANK : { ...BLANK, ...JSON.parse(text) }
}

/** The rows with these cookies added; one of the same name, domain and path is replaced. */
export function withCookies(rows: readonly CookieRow[], cookies: readonly DeskCookie[]): CookieRow[] {
  const nameOf = ({ name, domain = '', path = '' }: DeskCookie) => `${name} ${domain} ${path}`
  const added = new Set(cookies.map(nameOf))
  const kept = rows.filter((row) => row.name !== '' && !added.has(nameOf(row)))
  const first = Math.max(0, ...rows.map(({ key }) => key)) + 1
  return [...kept, ...cookies.map((cookie, index) => ({ ...cookie, key: first + index }))]
}

/** `a=1; b=2`, lines of them, or a list in JSON. Null: it is neither. */
export function parseCookies(text: string): DeskCookie[] | null {
  if (text.trim().startsWith('[')) return fromJson(text)
  const pairs = text.split(/[;\n]/).flatMap((part) => {
    const cut = part.indexOf('=')
    return part.trim() === '' ? [] : [[part.slice(0, Math.max(0, cut)).trim(), part.slice(cut + 1).trim()] as const]
  })
  return pairs.length === 0 || pairs.some(([name]) => name === '')
    ? null
    : pairs.map(([name, value]) => ({ name, value }))
}

function fromJson(text: string): DeskCookie[] | null {
  try {
    const list: unknown = JSON.parse(text)
    const isCookie = (one: unknown): one is DeskCookie =>
      typeof one === 'object' && one !== null && 'name' in one && 'value' in one
    return Array.isArray(list) && list.every(isCookie) ? list : null
  } catch {
    return null
  }
}

export const cookieHeader = (cookies: readonly DeskCookie[]): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')

/** What is handed in. Throws a sentence that says what is wrong with it. */
export function solutionOf({ form }: DeskTask, draft: Draft): DeskSolution {
  const { notes, userAgent } = draft
  const more = { ...(notes === '' ? {} : { notes }), ...(userAgent === '' ? {} : { user_agent: userAgent }) }
  if (form !== null) return { type: 'answer', payload: draft.answers, ...more }
  if (draft.kind === 'token') return { type: 'token', payload: draft.token.trim(), ...more }
  if (draft.kind === 'session') return { type: 'session', payload: parsedObject(draft.session), ...more }
  const cookies = draft.cookies.filter(({ name }) => name !== '').map(({ key: _key, ...cookie }) => filled(cookie))
  if (cookies.length === 0) throw new Error('There is no cookie yet. P takes those that the page has set.')
  return { type: 'cookie', payload: cookies, ...more }
}

const filled = (cookie: DeskCookie): object =>
  Object.fromEntries(Object.entries(cookie).filter(([, value]) => value !== '' && value !== undefined))

function parsedObject(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('The session is not JSON.')
  }
}
