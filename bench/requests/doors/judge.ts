import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zipFolder } from '../../../src/doors/judge/package/zip-folder.ts'
import type { Steps } from '../scene.ts'

const PROBLEM = 'double'
const CODE = '#include <stdio.h>\nint main(void) { long n; scanf("%ld", &n); printf("%ld\\n", 2 * n); }\n'

export const judgeSteps: Steps = async ({ ask, folder }) => {
  await ask('PUT', `/problems/${PROBLEM}`, {
    body: await packageOf(join(folder, PROBLEM)),
    headers: { 'content-type': 'application/zip' },
  })
  const jobs: string[] = []
  const judged = async (jobId: string) => {
    for (;;) {
      const { body } = await ask<{ status: string }>('GET', `/status/${jobId}`, { headers: { prefer: 'wait=20' } })
      if (body.status === 'FINISHED') return
    }
  }
  return [
    {
      name: 'judge: `POST /submit`, until the verdict is seen',
      async send() {
        const answer = await ask<{ job_id: string }>('POST', '/submit', {
          body: { problem_id: PROBLEM, language: 'c', code: CODE },
        })
        jobs.push(answer.body.job_id)
        await judged(answer.body.job_id)
        return answer
      },
    },
    { name: 'judge: `GET /status/{id}`', send: (n) => ask('GET', `/status/${jobs[n]}`) },
    { name: 'judge: `GET /submissions`', send: () => ask('GET', '/submissions') },
  ]
}

async function packageOf(folder: string): Promise<Buffer> {
  await mkdir(join(folder, 'data', 'secret'), { recursive: true })
  await writeFile(join(folder, 'problem.yaml'), 'name: Double\nlimits: {time_limit: 2, memory: 256}\n')
  await writeFile(join(folder, 'data', 'secret', '1.in'), '1\n')
  await writeFile(join(folder, 'data', 'secret', '1.ans'), '2\n')
  await zipFolder(folder, `${folder}.zip`)
  return readFile(`${folder}.zip`)
}
