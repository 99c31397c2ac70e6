// A tree of a document as React elements. No string becomes markup.
import type { Nodes } from 'hast'
import { toJsxRuntime, type Components } from 'hast-util-to-jsx-runtime'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'

/** `components` replaces tags. */
export function Prose({ tree, components }: { tree: Nodes; components: Components }) {
  return (
    <div className="prose" dir="auto">
      {toJsxRuntime(tree, { Fragment, jsx, jsxs, passNode: true, components })}
    </div>
  )
}
