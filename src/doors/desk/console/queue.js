// What waits, most urgent first, and above it what is mine already: a page that was loaded anew finds it there again.
import { ApiError, get, now, TASKS } from './api.js'
import { element, say, span } from './page.js'

const SHOWN_MAX = 50
/** However many events come in, the list is asked for no oftener. */
const PAUSE_MS = 500

const heading = document.getElementById('waiting')
const list = document.getElementById('tasks')

/** `onClaim` gets the task whose button was pressed, and the button; `onMine` the names of what is mine, whenever it was read. */
export function openQueue({ username, onClaim, onMine }) {
  let isLoading = false
  let isStale = false
  const closing = new AbortController()

  const load = async () => {
    const mine = (status) => get(`${TASKS}?status=${status}&assigned_to=${encodeURIComponent(username)}`)
    const [waiting, begun, solving] = await Promise.all([
      get(`${TASKS}/pending?limit=${SHOWN_MAX}`),
      mine('in_progress'),
      mine('solving'),
    ])
    if (closing.signal.aborted) return
    const held = [...begun.tasks, ...solving.tasks]
    show(held, waiting)
    onMine(held.map(({ uuid }) => uuid))
  }

  const show = (held, { tasks, total }) => {
    const focused = document.activeElement?.dataset.uuid
    heading.textContent = total > tasks.length ? `Waiting: ${total}, the first ${tasks.length}` : `Waiting: ${total}`
    const items = [...held.map((task) => item(task, 'Open')), ...tasks.map((task) => item(task, 'Claim'))]
    const nothing = element('li', { className: 'empty', textContent: 'Nothing waits. New tasks appear by themselves.' })
    list.replaceChildren(...(items.length === 0 ? [nothing] : items))
    if (focused !== undefined) list.querySelector(`[data-uuid="${focused}"]`)?.focus()
  }

  const item = (task, verb) => {
    const title = titleOf(task)
    const button = element('button', { type: 'button', textContent: verb, ariaLabel: `${verb}: ${title}` })
    button.dataset.uuid = task.uuid
    button.addEventListener('click', () => onClaim(task, button))
    const about = verb === 'Open' ? 'yours' : `waits for ${span(now() - Date.parse(task.created_at))}`
    const words = [`priority ${task.priority}`, about, ...(task.preview_path === null ? [] : ['screenshot'])]
    return element(
      'li',
      { className: verb === 'Open' ? 'mine' : '' },
      element('div', {}, element('b', { textContent: title }), element('p', { textContent: words.join(' · ') })),
      button,
    )
  }

  const refresh = async () => {
    isStale = true
    if (isLoading) return
    isLoading = true
    while (isStale && !closing.signal.aborted) {
      isStale = false
      await load().catch((error) => {
        if (error instanceof ApiError) say(error.message, 'bad') // a server that is away shows above
      })
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    isLoading = false
  }

  return {
    refresh,
    focus: () => heading.focus(),
    close() {
      closing.abort()
      list.replaceChildren()
    },
  }
}

export function titleOf({ form, challenge_type: kind, domain }) {
  if (form !== null) return form.question
  return kind === null ? domain : `${kind} at ${domain}`
}
