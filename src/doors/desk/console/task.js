// The task in hand, from the claim until it is out of these hands again: its lock, and the ways to end it.
import { get, send, TASKS } from './api.js'
import { watchLock } from './lock.js'
import { attempt, say } from './page.js'
import { openEntry } from './solution.js'
import { hasPage, openFrame, showFields, showPreview } from './view.js'

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
  /** What is asked for here is answered here. */
  const ask = (asked, work) =>
    attempt(asked, async () => {
      isAsking = true
      await work().finally(() => (isAsking = false))
    })

  showFields(parts, task)
  if (task.preview_path !== null) void showPreview(parts, task.preview_path, closing.signal)
  if (hasPage(task)) openFrame(parts, path)
  handleLock(parts, { path, username, lock, ask, close })
  handleEnds(parts, { path, task, ask, close })
  parts.title.focus()

  return {
    uuid: task.uuid,
    close: () => close(''),
    /** It was not among what is mine: has somebody else ended it, or taken it away? */
    async doubt() {
      if (isAsking) return
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
      close(solved.message)
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
