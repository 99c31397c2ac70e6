import type { DeskOperator } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { duration, number } from '../../../clock/format.ts'
import { classes } from '../../../parts/classes.ts'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import type { Column } from '../../../parts/data/table.tsx'
import { client } from '../../../session/client.ts'

export function Operators() {
  const operators = useQuery({
    queryKey: ['desk', 'operators', 24],
    queryFn: () => client.desk.operators(24),
    staleTime: 0,
  })
  if (operators.isError) {
    return (
      <ErrorBox
        title="The operators could not be loaded"
        error={operators.error}
        onRetry={() => void operators.refetch()}
      />
    )
  }
  const rows = operators.data ?? []
  if (rows.length === 0) return <Empty title="Nobody has worked in the last 24 hours" />
  return (
    <table aria-label="Operators" className="w-full border-collapse">
      <thead className="text-left text-small text-quiet">
        <tr>
          {COLUMNS.map(({ head, ...column }) => (
            <th key={head} className={cellClass(column)}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.operator} className="border-t border-line">
            {COLUMNS.map(({ head, cell, ...column }) => (
              <td key={head} className={cellClass(column)}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const cellClass = ({ align, wideOnly }: Pick<Column<DeskOperator>, 'align' | 'wideOnly'>): string =>
  classes('px-2 py-1.5 font-normal', align === 'right' && 'text-right', wideOnly === true && 'max-sm:hidden')

const time = (ms: number | null): string => (ms === null ? '–' : duration(ms))

const COLUMNS: readonly Column<DeskOperator>[] = [
  { head: 'Operator', width: 'minmax(120px, 2fr)', cell: ({ operator }) => <span dir="auto">{operator}</span> },
  { head: 'Solved', width: '80px', align: 'right', cell: ({ solved }) => number(solved) },
  { head: 'Unsolvable', width: '96px', align: 'right', cell: ({ unsolvable }) => number(unsolvable) },
  { head: 'Given back', width: '96px', align: 'right', wideOnly: true, cell: ({ released }) => number(released) },
  { head: 'Lapsed', width: '80px', align: 'right', wideOnly: true, cell: ({ lapsed }) => number(lapsed) },
  { head: 'Bad', width: '64px', align: 'right', wideOnly: true, cell: ({ reported_bad: bad }) => number(bad) },
  { head: 'Typical time', width: '112px', align: 'right', cell: ({ solve_ms_p50: ms }) => time(ms) },
  { head: 'Slow ones', width: '96px', align: 'right', wideOnly: true, cell: ({ solve_ms_p95: ms }) => time(ms) },
]
