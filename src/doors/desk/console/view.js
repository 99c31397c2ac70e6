// What there is to see of a task: all that the program said about it, its screenshot, and its page in the frame.
import { getBlob, send } from './api.js'
import { attempt, element } from './page.js'
import { titleOf } from './queue.js'

/** A question without a page belongs there. */
const NO_PAGE_DOMAIN = 'question.example'

const FIELDS = [
  ['Address', 'url'],
  ['Domain', 'domain'],
  ['Kind', 'challenge_type'],
  ['What the program met', 'error_message'],
  ['Last failure', 'last_error'],
  ['Request', 'request_id'],
  ['User agent', 'user_agent'],
  ['Proxy', 'proxy_url'],
  ['Priority', 'priority'],
  ['Asked for again', 'attempts'],
  ['Created', 'created_at'],
  ['Further', 'metadata'],
  ['Task', 'uuid'],
]

export const hasPage = ({ domain }) => domain !== NO_PAGE_DOMAIN

export function showFields(parts, task) {
  parts.title.textContent = titleOf(task)
  parts['session-only'].hidden = task.form !== null
  for (const [label, name] of FIELDS) {
    const text = textOf(name, task[name])
    if (text === null) continue
    const isLink = name === 'url' && /^https?:\/\//.test(text) && hasPage(task)
    const link = { href: text, target: '_blank', rel: 'noopener noreferrer', textContent: text }
    const shown = isLink ? element('a', link) : text
    parts.fields.append(element('dt', { textContent: label }), element('dd', {}, shown))
  }
}

/** Null: nothing worth a line. */
function textOf(name, value) {
  if (value === null || (name === 'attempts' && value === 0)) return null
  if (name === 'created_at') return new Date(value).toLocaleString()
  if (typeof value !== 'object') return String(value)
  return Object.keys(value).length === 0 ? null : JSON.stringify(value, null, 2)
}

/** Fetched with the token, which an <img> could not send. */
export async function showPreview(parts, path, signal) {
  const blob = await getBlob(path).catch(() => null)
  if (blob === null || signal.aborted) return
  const address = URL.createObjectURL(blob)
  signal.addEventListener('abort', () => URL.revokeObjectURL(address))
  parts.picture.src = address
  parts.preview.hidden = false
}

/** The page of a stranger, at another host and without an origin. Its address is good for a while only. */
export function openFrame(parts, path) {
  const load = () =>
    attempt(parts.reframe, async () => {
      parts.frame.src = (await send('POST', `${path}/frame`)).url
    })
  parts.page.hidden = false
  parts.reframe.addEventListener('click', load)
  void load()
}
