// The task in hand: all that is known of it, its page beside the screenshot, and the ways to end it.
import { get, getBlob, send, TASKS } from './api.js'
import { watchLock } from './lock.js'
import { attempt, element, say } from './page.js'
import { titleOf } from './queue.js'
import { openEntry } from './solution.js'

/** A question without a page belongs there. */
const NO_PAGE_DOMAIN = 'question.example'
const CHANGES = ['task_assigned', 'task_released', 'task_failed', 'task_solved', 'task_unsolvable', 'task_expired']

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

/** Fills `place` until the task is out of these hands; then `onGone` is called with what is to be said about it. */
export function openTask(place, { task, username, onGone }) {
  const parts = fill(place)
  const path = `${TASKS}/${task.uuid}`
  const closing = new AbortController()
  let isAsking = false

  const close = (sentence, kind) => {
    if (closing.signal.aborted) return
    closing.abort()
    place.replaceChildren()
    onGone(sentence, kind)
  }
  const onOver = () => close('Your lock is over, and the task waits again. Claim it to go on.', 'bad')
  const lock = watchLock(parts.lock, { until: Date.parse(task.locked_until), onOver })
  closing.signal.addEventListener('abort', lock.stop)
  /** Own changes are answered; their events say nothing new. */
  const ask = (asked, work) =>
    attempt(asked, async () => {
      isAsking = true
      await work().finally(() => (isAsking = false))
    })

  showFields(parts, task)
  if (task.preview_path !== null) void showPreview(parts, task.preview_path, closing.signal)
  if (task.domain !== NO_PAGE_DOMAIN) openFrame(parts, path)
  handleLock(parts, { path, username, lock, ask, close })
  handleEnds(parts, { path, task, ask, close })
  parts.title.focus()

  return {
    close: () => close(''),
    /** Somebody else ended it, or took it away? */
    async hear({ type, payload }) {
      if (payload.uuid !== task.uuid || !CHANGES.includes(type) || isAsking) return
      const seen = await get(path).catch(() => null)
      if (seen === null || isAsking || (seen.assigned_to === username && seen.locked_until !== null)) return
      close(`The task is not yours any more: it is ${seen.status}.`, 'bad')
    },
  }
}

function fill(place) {
  place.replaceChildren(document.getElementById('task-template').content.cloneNode(true))
  return Object.fromEntries([...place.querySelectorAll('[data-part]')].map((part) => [part.dataset.part, part]))
}

function showFields(parts, task) {
  parts.title.textContent = titleOf(task)
  parts['session-only'].hidden = task.form !== null
  for (const [label, name] of FIELDS) {
    const text = textOf(name, task[name])
    if (text === null) continue
    const isLink = name === 'url' && /^https?:\/\//.test(text) && task.domain !== NO_PAGE_DOMAIN
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
async function showPreview(parts, path, signal) {
  const blob = await getBlob(path).catch(() => null)
  if (blob === null || signal.aborted) return
  const address = URL.createObjectURL(blob)
  signal.addEventListener('abort', () => URL.revokeObjectURL(address))
  parts.picture.src = address
  parts.preview.hidden = false
}

/** The page of a stranger, at another host and without an origin. Its address is good for a while only. */
function openFrame(parts, path) {
  const load = () =>
    attempt(parts.reframe, async () => {
      parts.frame.src = (await send('POST', `${path}/frame`)).url
    })
  parts.page.hidden = false
  parts.reframe.addEventListener('click', load)
  void load()
}

function handleLock(parts, { path, username, lock, ask, close }) {
  parts.renew.addEventListener('click', () =>
    ask(parts.renew, async () => {
      const { locked_until: until } = await send('POST', `${path}/assign`, { operator_id: username })
      lock.renew(Date.parse(until))
      say('The lock is renewed.')
    }),
  )
  parts.release.addEventListener('click', () =>
    ask(parts.release, async () => {
      await send('POST', `${path}/release`)
      close('You gave the task back.')
    }),
  )
}

function handleEnds(parts, { path, task, ask, close }) {
  const readEntry = openEntry(parts.entry, task)
  parts.solution.addEventListener('submit', (event) => {
    event.preventDefault()
    void ask(parts.solution, async () => {
      const solved = await send('POST', `${path}/solve`, { ...readEntry(), ...readMore(parts.solution) })
      const cached = solved.session_cached ? ` The session of ${task.domain} is good for ${solved.session_ttl} s.` : ''
      close(`${solved.message}.${cached}`)
    })
  })
  parts['give-up'].addEventListener('submit', (event) => {
    event.preventDefault()
    const reason = parts['give-up'].elements.namedItem('reason').value
    void ask(parts['give-up'], async () => {
      if (event.submitter.value === 'failed') {
        await send('PATCH', `${path}/status`, { status: 'failed', error: reason })
        close('Somebody else may try the task now.')
      } else {
        const { message } = await send('POST', `${path}/mark-unsolvable`, { reason })
        close(`${message}.`)
      }
    })
  })
}

function readMore(form) {
  const valueOf = (name) => form.elements.namedItem(name).value.trim()
  const [notes, agent, until] = [valueOf('notes'), valueOf('user_agent'), valueOf('expires_at')]
  return {
    ...(notes === '' ? {} : { notes }),
    ...(agent === '' ? {} : { user_agent: agent }),
    ...(until === '' ? {} : { expires_at: new Date(until).toISOString() }),
  }
}
