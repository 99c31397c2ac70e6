// What the operator hands in: the answers of the task's form, or cookies, a token or a session.
import { get, TASKS } from './api.js'
import { attempt, element, say } from './page.js'

const KINDS = [
  ['cookie', 'Cookies', 'One name=value a line, or a list of cookies in JSON'],
  ['token', 'Token', 'The token, as the page got it'],
  ['session', 'Session', 'An object in JSON; cookies in it are found'],
]
const SHORT_CHARS_MAX = 200

/** Fills `place`; returns what reads it: `{type, payload}`. Throws what is wrong with it as a sentence. */
export const openEntry = (place, task) => (task.form === null ? freeEntry(place, task) : formEntry(place, task.form))

function formEntry(place, { question, fields }) {
  const controls = fields.map((field) => [field, fieldControl(field)])
  place.replaceChildren(element('p', { className: 'question', textContent: question }), ...controls.map(([, at]) => at))
  const answerOf = (field, at) => {
    if (field.type === 'text') return at.querySelector('input, textarea').value
    const chosen = [...at.querySelectorAll('input:checked')].map(({ value }) => value)
    return field.multiple === true ? chosen : chosen[0]
  }
  const asked = controls.filter(([{ type }]) => type !== 'image')
  return () => ({
    type: 'answer',
    payload: Object.fromEntries(asked.map(([field, at]) => [field.name, answerOf(field, at)])),
  })
}

function fieldControl(field) {
  const label = field.label ?? field.name
  if (field.type === 'image') return element('img', { className: 'asked', src: field.image ?? '', alt: label })
  if (field.type === 'choice') {
    const type = field.multiple === true ? 'checkbox' : 'radio'
    const option = (value) =>
      element(
        'label',
        { className: 'option' },
        element('input', { type, name: `choice ${field.name}`, value, required: type === 'radio' }),
        element('span', { textContent: value }),
      )
    return element('fieldset', {}, element('legend', { textContent: label }), ...field.options.map(option))
  }
  const isShort = (field.max_length ?? 0) <= SHORT_CHARS_MAX
  const input = element(isShort ? 'input' : 'textarea', { name: `text ${field.name}`, autocomplete: 'off' })
  input.required = (field.min_length ?? 1) > 0
  if (field.max_length !== undefined) input.maxLength = field.max_length
  if (field.digits_only === true) input.inputMode = 'numeric'
  return element('label', {}, `${label} `, input)
}

function freeEntry(place, task) {
  const text = element('textarea', { name: 'payload', rows: 6, required: true, spellcheck: false, autocomplete: 'off' })
  const hint = element('span', { className: 'hint' })
  const kinds = element('fieldset', { className: 'kinds' }, element('legend', { textContent: 'What is it?' }))
  for (const [value, label, about] of KINDS) {
    const radio = element('input', { type: 'radio', name: 'type', value })
    radio.addEventListener('change', () => (hint.textContent = about))
    kinds.append(element('label', { className: 'option' }, radio, element('span', { textContent: label })))
  }
  const choose = (value) => kinds.querySelector(`[value=${value}]`).click()
  const useCookies = (cookies) => {
    choose('cookie')
    text.value = JSON.stringify(cookies, null, 2)
  }
  place.replaceChildren(kinds, proposals(task, useCookies), element('label', {}, hint, text))
  choose('cookie')
  return () => {
    const type = kinds.querySelector(':checked').value
    return { type, payload: parsePayload(type, text.value.trim()) }
  }
}

function parsePayload(type, text) {
  if (type === 'token') return text
  if (type === 'session' || text.startsWith('[')) {
    try {
      return JSON.parse(text)
    } catch {
      throw new Error('The solution is not JSON.')
    }
  }
  return text.split(/[;\n]/).flatMap((line) => {
    const [, name, value] = /^([^=]+)=(.*)$/.exec(line.trim()) ?? []
    if (name === undefined && line.trim() !== '') throw new Error(`“${line.trim()}” is not name=value.`)
    return name === undefined ? [] : [{ name: name.trim(), value: value.trim() }]
  })
}

/** What the page in the frame wanted to keep: the operator looks, and takes what belongs to the session. */
function proposals(task, onUse) {
  const look = element('button', { type: 'button', textContent: 'Look at the page’s cookies' })
  const place = element('div', { className: 'proposals' }, look)
  look.addEventListener('click', () =>
    attempt(look, async () => {
      const { cookies } = await get(`${TASKS}/${task.uuid}/cookies`)
      if (cookies.length === 0) return say('The page has not kept any cookie yet.')
      const rows = cookies.map((cookie) => [cookie, element('input', { type: 'checkbox', checked: true })])
      const use = element('button', { type: 'button', textContent: 'Take these' })
      use.addEventListener('click', () => onUse(rows.flatMap(([cookie, box]) => (box.checked ? [cookie] : []))))
      const shown = rows.map(([{ name, value, domain }, box]) =>
        element(
          'label',
          { className: 'option' },
          box,
          element('span', {}, element('b', { textContent: name }), ` ${domain ?? ''} `),
          element('code', { textContent: value }),
        ),
      )
      const legend = element('legend', { textContent: 'Cookies of the page' })
      place.replaceChildren(element('fieldset', {}, legend, ...shown, use), look)
    }),
  )
  return place
}
