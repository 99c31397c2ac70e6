// The little that is needed of a page. Text becomes text nodes and attributes, never markup.

/** An element with properties and children; strings among them are text. */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

const notices = document.getElementById('notices')

/** One sentence at the top of the page, until there is another. */
export function say(text, kind = 'good') {
  notices.replaceChildren(...(text === '' ? [] : [element('p', { className: kind, textContent: text })]))
}

/** Runs what a button or a form asked for; meanwhile it cannot be asked for again, and what goes wrong is said. */
export async function attempt(asked, work) {
  const buttons = asked.matches('button') ? [asked] : [...asked.querySelectorAll('button')]
  for (const button of buttons) button.disabled = true
  try {
    say('')
    await work()
  } catch (error) {
    say(error.message, 'bad')
  } finally {
    for (const button of buttons) button.disabled = false
  }
}

export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const two = (count) => String(count).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}
