// LaTeX as React elements. What it knows is converted; an unknown macro is shown as its source. No string becomes markup.
import { unifiedLatexToHast } from '@unified-latex/unified-latex-to-hast'
import { parse } from '@unified-latex/unified-latex-util-parse'
import type { Element, Nodes, Root } from 'hast'
import { defaultSchema, sanitize } from 'hast-util-sanitize'
import type { Components } from 'hast-util-to-jsx-runtime'
import { lazy, Suspense, useMemo, type ReactNode } from 'react'
import { unified } from 'unified'
import { Prose } from '../../../parts/text/prose.tsx'

const Formula = lazy(async () => ({ default: (await import('../../../parts/text/formula.tsx')).Formula }))

const SCHEMA = { ...defaultSchema, attributes: { ...defaultSchema.attributes, '*': ['className'] } }
const COMMENT = /(?<!\\)%.*$/gm

/** `components` replaces tags: pictures from the API. */
export function Latex({ source, components }: { source: string; components: Components }) {
  const tree = useMemo(() => treeOf(source), [source])
  if (tree === null) return <pre className="whitespace-pre-wrap">{source}</pre>
  const replaced = { span: Converted, div: Converted, h3: 'h2', h4: 'h3', h5: 'h4', ...components } as const
  return <Prose tree={tree} components={replaced} />
}

/** Null: it cannot be read as LaTeX. */
function treeOf(source: string): Nodes | null {
  try {
    const tree: unknown = unified()
      .use(unifiedLatexToHast)
      .runSync(parse(prepared(source)))
    return isRoot(tree) ? sanitize(tree, SCHEMA) : null
  } catch {
    return null
  }
}

const isRoot = (tree: unknown): tree is Root =>
  typeof tree === 'object' && tree !== null && 'type' in tree && tree.type === 'root' && 'children' in tree

/** Without what packages write beside LaTeX: the title, which the page has already, and environments of their own. */
const prepared = (source: string): string =>
  source
    .replace(COMMENT, '')
    .replace(/\\problemname\{(?:[^{}]|\{[^{}]*\})*\}/, '')
    .replace(/\\(?:begin|end)\{(?:Input|Output|Interaction)\}/g, '')

interface ConvertedProps {
  node?: Element | undefined
  className?: string | undefined
  children?: ReactNode
}

function Converted({ node, className = '', children }: ConvertedProps) {
  const isInline = className.includes('inline-math')
  if (isInline || className.includes('display-math')) {
    const text = textOf(node)
    return (
      <Suspense fallback={<code>{text}</code>}>
        <Formula text={text} isDisplay={!isInline} />
      </Suspense>
    )
  }
  const macro = /\bmacro-(\S+)/.exec(className)?.[1]
  if (macro !== undefined) return <code>{`\\${macro}`}</code>
  return node?.tagName === 'div' ? <div>{children}</div> : <span>{children}</span>
}

const textOf = (node: Element | undefined): string =>
  (node?.children ?? []).map((child) => (child.type === 'text' ? child.value : '')).join('')
