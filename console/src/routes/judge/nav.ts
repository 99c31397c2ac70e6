import { client } from '../../session/client.ts'
import type { Found, NavEntry } from '../nav.ts'

const FOUND_MAX = 5

async function findProblem(text: string): Promise<readonly Found[]> {
  const { problems } = await client.judge.problems({ limit: 500 })
  const wanted = text.toLowerCase()
  return problems
    .filter(({ problem_id: id, title }) => id.toLowerCase().includes(wanted) || title.toLowerCase().includes(wanted))
    .slice(0, FOUND_MAX)
    .map(({ problem_id: id, title }) => ({
      to: `/console/judge/problems/${encodeURIComponent(id)}`,
      label: title,
      icon: 'judge' as const,
      about: id,
    }))
}

export const judgeNav: NavEntry = {
  to: '/console/judge',
  label: 'Judge',
  icon: 'judge',
  door: 'judge',
  roles: [],
  find: findProblem,
}
