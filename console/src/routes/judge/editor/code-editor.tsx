// CodeMirror in a shadow root, where it may use style sheets of its own: the page's policy allows none in the document.
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, Prec } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { useEffect, useEffectEvent, useRef } from 'react'
import { languageFor } from './languages.ts'
import { colours, theme } from './theme.ts'

interface EditorProps {
  /** What it begins with. A change of `id` begins anew with it. */
  id: string
  text: string
  language: string
  label: string
  onChange: (text: string) => void
  /** Ctrl+Enter, or ⌘+Enter. */
  onSubmit: () => void
}

export function CodeEditor({ id, text, language, label, onChange, onSubmit }: EditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const support = useRef(new Compartment())
  const changed = useEffectEvent((next: string) => onChange(next))
  const submit = useEffectEvent(() => onSubmit())
  const open = useEffectEvent((parent: HTMLElement) => {
    const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' })
    const state = EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run: () => (submit(), true) }])),
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion(),
        highlightActiveLine(),
        indentUnit.of('    '),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...completionKeymap, indentWithTab]),
        syntaxHighlighting(colours),
        theme,
        support.current.of([]),
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString())
        }),
      ],
    })
    return new EditorView({ state, parent: root, root })
  })

  useEffect(() => {
    if (place.current === null) return undefined
    const opened = open(place.current)
    view.current = opened
    return () => {
      opened.destroy()
      view.current = null
    }
  }, [id])

  useEffect(() => {
    let isLeft = false
    void languageFor(language).then((extension) => {
      if (!isLeft) view.current?.dispatch({ effects: support.current.reconfigure(extension) })
    })
    return () => {
      isLeft = true
    }
  }, [language, id])

  return (
    <div
      ref={place}
      className="min-h-48 flex-1 overflow-hidden rounded-md border border-line-strong outline-accent focus-within:outline-2"
    />
  )
}
