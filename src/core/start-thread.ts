import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Run from its source (tests, `npm run dev`), a thread needs the loader that this process was started with. */
export function startThread(file: URL, options: WorkerOptions): Worker {
  const isSource = file.pathname.endsWith('.ts')
  const thread = new Worker(isSource ? loadSource(file) : file, { ...options, eval: isSource })
  thread.unref()
  thread.on('error', () => {}) // told to whoever waits for it; a thread that is being ended may fail unheard
  return thread
}

const loadSource = (file: URL): string =>
  `import('tsx/esm/api').then(({ register }) => { register(); return import('${file.href}') })`

/** The file beside `url`, in the form in which this code runs. */
export const besideAs = (name: string, url: string): URL =>
  new URL(`./${name}${url.endsWith('.ts') ? '.ts' : '.js'}`, url)
