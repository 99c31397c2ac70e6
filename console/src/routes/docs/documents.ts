// The documents of docs/, each a file that is loaded when it is opened.

const FILES = import.meta.glob<string>('../../../../docs/*.md', { query: '?raw', import: 'default' })

const TITLES: readonly (readonly [name: string, title: string, about: string])[] = [
  ['how-it-works', 'How it works', 'The path of a job, the feed, the outbox, crash recovery.'],
  ['state-machine', 'State machine', 'States, transitions, and what each refusal means.'],
  ['http', 'HTTP', 'Accounts, keys, jobs, health, metrics, limits.'],
  ['operating', 'Operating it', 'Processes, backup, upgrade, what to watch.'],
  ['settings', 'Settings', 'Every setting with its default.'],
  ['security', 'Security', 'The threat model, per door.'],
  ['judge', 'Judge', 'Programs against tests, in a sandbox.'],
  ['judge-sandbox', 'Judge: the sandbox', 'How programs of strangers are run.'],
  ['challenge', 'Challenge', 'Signed problems and callbacks.'],
  ['pool', 'Pool', 'Remote workers that sign their results.'],
  ['desk', 'Desk', 'Tasks that a person solves.'],
  ['arena', 'Arena', 'Two players in a live match.'],
]

export const DOCUMENTS = TITLES.map(([name, title, about]) => ({ name, title, about }))

export const titleOf = (name: string): string => DOCUMENTS.find((one) => one.name === name)?.title ?? name

/** Null: there is no such document. */
export async function loadDocument(name: string): Promise<string | null> {
  const load = FILES[`../../../../docs/${name}.md`]
  return load === undefined ? null : load()
}
