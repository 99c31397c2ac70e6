// The editor in the console's own colours, which follow the scheme. Custom properties reach into a shadow root.
import { HighlightStyle } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export const theme = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: '13px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono, ui-monospace, monospace)', lineHeight: '20px', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--surface-raised)',
    color: 'var(--text-quiet)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' }, // the box around it shows the focus
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--quiet-bg)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface-raised)', border: '1px solid var(--line)', color: 'var(--text)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-panels': { backgroundColor: 'var(--surface-raised)', color: 'var(--text)' },
})

export const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword], color: 'var(--accent)' },
  { tag: [tags.string, tags.character, tags.regexp], color: 'var(--good-fg)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn-fg)' },
  { tag: [tags.typeName, tags.className, tags.namespace], color: 'var(--active-fg)' },
  { tag: [tags.comment, tags.meta, tags.processingInstruction], color: 'var(--text-quiet)' },
])
