// Markdown with tables and formulas as React elements: no string becomes markup. Load it with React.lazy: it is large.
import type { Element } from 'hast'
import type { Components } from 'hast-util-to-jsx-runtime'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { mathFromMarkdown } from 'mdast-util-math'
import { toHast } from 'mdast-util-to-hast'
import { gfm } from 'micromark-extension-gfm'
import { math } from 'micromark-extension-math'
import { lazy, Suspense, type CSSProperties, type ReactNode } from 'react'
import { Prose } from './prose.tsx'

const Formula = lazy(async () => ({ default: (await import('./formula.tsx')).Formula }))

export interface MarkdownProps {
  source: string
  /** `$x$` is a formula. Documents that speak of money leave it out. */
  hasMath?: boolean
  /** Replaces tags: links that the router follows, pictures from the API. */
  components?: Components
}

export function Markdown({ source, hasMath = false, components = {} }: MarkdownProps) {
  const tree = toHast(
    fromMarkdown(source, {
      extensions: hasMath ? [gfm(), math()] : [gfm()],
      mdastExtensions: hasMath ? [gfmFromMarkdown(), mathFromMarkdown()] : [gfmFromMarkdown()],
    }),
  )
  return <Prose tree={tree} components={{ code: Code, pre: Block, th: Heading, ...components }} />
}

/** What mdast-util-math leaves behind: code with the class of a formula. */
function Code({
  node,
  className,
  children,
}: {
  node?: Element | undefined
  className?: string | undefined
  children?: unknown
}) {
  const text = textOf(node)
  if (className?.includes('language-math') === true) {
    return (
      <Suspense fallback={<code>{text}</code>}>
        <Formula text={text} isDisplay={className.includes('math-display')} />
      </Suspense>
    )
  }
  return <code className={className}>{typeof children === 'string' ? children : text}</code>
}

interface TextProps {
  children?: ReactNode
  style?: CSSProperties | undefined
}

/** It may be wider than the page: the keyboard scrolls it, too. */
// oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
const Block = ({ children }: TextProps) => <pre tabIndex={0}>{children}</pre>

/** One without text heads nothing. */
const Heading = ({ children, style }: TextProps) =>
  children === undefined ? <td style={style}>{children}</td> : <th style={style}>{children}</th>

const textOf = (node: Element | undefined): string =>
  (node?.children ?? []).map((child) => (child.type === 'text' ? child.value : '')).join('')
