import { Worker, type WorkerOptions } from 'node:worker_threads'

/** When the program runs from source (tests, `npm run dev`), the thread needs the same loader as this process. */
export function startThread(file: URL, options: WorkerOptions): Worker {
  const isSource = file.pathname.endsWith('.ts')
  const thread = new Worker(isSource ? loadSource(file) : file, { ...options, eval: isSource })
  thread.unref()
  thread.on('error', () => {}) // callers that wait for it have listeners of their own
  return thread
}

const loadSource = (file: URL): string =>
  `import('tsx/esm/api').then(({ register }) => { register(); return import('${file.href}') })`

/** The file beside `url`: .ts when the program runs from source, otherwise .js. */
export const besideAs = (name: string, url: string): URL =>
  new URL(`./${name}${url.endsWith('.ts') ? '.ts' : '.js'}`, url)
