// The documents of docs/ and its guides, each a file that is loaded when it is opened. A file's name is unique in both folders.

const FILES = import.meta.glob<string>(['../../../../docs/*.md', '../../../../docs/guides/*.md'], {
  query: '?raw',
  import: 'default',
})
const LOADERS = new Map(Object.entries(FILES).map(([path, load]) => [path.replace(/^.*\/|\.md$/g, ''), load]))

const TITLES: readonly (readonly [name: string, title: string, about: string])[] = [
  ['teacher', 'For teachers', 'A class that submits programs.'],
  ['backend-developer', 'For backend developers', 'Jobs of your own program.'],
  ['webhook-integrator', 'For integrators', 'Signed requests and callbacks.'],
  ['pool-owner', 'For owners of workers', 'Machines that work for others.'],
  ['desk-lead', 'For leads of a desk', 'Operators and their tasks.'],
  ['game-developer', 'For game developers', 'Live matches and ratings.'],
  ['operator', 'For who runs it', 'From a fresh machine to backups and alerts.'],
  ['how-it-works', 'How it works', 'The path of a job, the feed, the outbox, crash recovery.'],
  ['state-machine', 'State machine', 'States, transitions, and what each refusal means.'],
  ['http', 'HTTP', 'Accounts, keys, jobs, health, metrics, limits.'],
  ['install', 'Install', 'systemd, an image, proxies.'],
  ['operating', 'Operating it', 'Processes, backup, upgrade, what to watch.'],
  ['console', 'The console', 'What each page is for, and its keys.'],
  ['performance', 'Performance', 'What a request costs, what bounds it, and how to measure it.'],
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
  return (await LOADERS.get(name)?.()) ?? null
}
