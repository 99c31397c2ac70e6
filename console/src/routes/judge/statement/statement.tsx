// A problem's text: Markdown with formulas, or LaTeX as packages write it.
import type { ProblemDetail } from '@reeve/sdk'
import { lazy, Suspense, useMemo } from 'react'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { pictureOf } from './picture.tsx'

const Markdown = lazy(async () => ({ default: (await import('../../../parts/text/markdown.tsx')).Markdown }))
const Latex = lazy(async () => ({ default: (await import('./latex.tsx')).Latex }))

export function Statement({ problem }: { problem: ProblemDetail }) {
  const { statement, title } = problem
  const components = useMemo(() => ({ img: pictureOf(problem) }), [problem])
  if (statement === null) return <Empty title="The package has no statement to show" />
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      {statement.format === 'latex' ? (
        <Latex source={statement.text} components={components} />
      ) : (
        <Markdown source={withoutTitle(statement.text, title)} hasMath components={components} />
      )}
    </Suspense>
  )
}

/** The page has the title already. */
const withoutTitle = (text: string, title: string): string => {
  const [first = '', ...rest] = text.trimStart().split('\n')
  return first.replace(/^#+\s*/, '').trim() === title ? rest.join('\n') : text
}
