import type { Attention } from '../../../core/admin/overview.ts'
import type { Database } from '../../../core/db/database.ts'

const COUNT_MAX = 1000

const COUNT_OVERDUE = `
  select count(*)::integer as count
    from (select 1 from captcha_task where ended_at is null and overdue_at is not null limit ${COUNT_MAX + 1}) as late`

/** Tasks that wait, or are held, for too long. */
export async function overdueTasks(database: Database): Promise<Attention[]> {
  const [row] = await database.query<{ count: number }>(COUNT_OVERDUE)
  const count = row?.count ?? 0
  if (count === 0) return []
  return [
    {
      tone: 'warn',
      count: Math.min(count, COUNT_MAX),
      isMore: count > COUNT_MAX,
      text: count === 1 ? 'overdue task at the desk' : 'overdue tasks at the desk',
      to: '/console/desk?q=overdue:yes',
    },
  ]
}
