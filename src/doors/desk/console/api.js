// The API, with the operator's token. The token is kept for this tab only (sessionStorage): not in a cookie, which a browser
// sends by itself, and never in an address.

const TOKEN = 'reeve.desk.token'
export const TASKS = '/api/v1/captcha/tasks'

const ENDED = 'You are not signed in any more: sign in again.'

/** Tells `ended` when the server does not know the token any more. */
export const session = new EventTarget()

export class ApiError extends Error {
  constructor(status, detail) {
    super(sentenceOf(detail) ?? `The server answered ${status}.`)
    this.status = status
  }
}

let aheadMs = 0

/** By the server's clock, to the second: locks are its business. */
export const now = () => Date.now() + aheadMs

export const token = () => sessionStorage.getItem(TOKEN)

export function keepToken(value) {
  if (value === null) sessionStorage.removeItem(TOKEN)
  else sessionStorage.setItem(TOKEN, value)
}

export const get = async (path) => (await ask('GET', path)).json()

export async function send(method, path, body) {
  const response = await ask(method, path, body)
  return response.status === 204 ? null : response.json()
}

export const getBlob = async (path) => (await ask('GET', path)).blob()

async function ask(method, path, body) {
  const headers = new Headers()
  const known = token()
  if (known !== null) headers.set('authorization', `Bearer ${known}`)
  if (body !== undefined) headers.set('content-type', 'application/json')
  const response = await fetch(path, { method, headers, body: JSON.stringify(body), credentials: 'omit' }).catch(() => {
    throw new Error('The server cannot be reached.')
  })
  const date = Date.parse(response.headers.get('date') ?? '')
  if (!Number.isNaN(date)) aheadMs = date - Date.now()
  if (response.ok) return response
  if (response.status === 401 && known !== null) {
    keepToken(null)
    session.dispatchEvent(new CustomEvent('ended', { detail: ENDED }))
    throw new Error(ENDED)
  }
  const { detail } = await response.json().catch(() => ({}))
  throw new ApiError(response.status, detail)
}

/** `detail` is a sentence, a lock that is in the way, or a list of fields. */
function sentenceOf(detail) {
  if (typeof detail === 'string') return detail
  if (Array.isArray(detail)) return detail.map(({ loc, msg }) => `${loc.slice(1).join('.')} ${msg}`).join('; ')
  if (typeof detail?.message !== 'string') return null
  const holder = detail.assigned_to === null ? '' : `: ${detail.assigned_to}`
  const until = detail.locked_until === null ? '' : `, until ${new Date(detail.locked_until).toLocaleTimeString()}`
  return detail.message + holder + until
}
