import katex from 'katex'
import 'katex/dist/katex.min.css'
import { useEffect, useRef, useState } from 'react'

/** A formula. One that KaTeX cannot read is shown as its source. */
export function Formula({ text, isDisplay = false }: { text: string; isDisplay?: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    if (place.current === null) return
    try {
      katex.render(text, place.current, { displayMode: isDisplay, throwOnError: true, strict: false, maxExpand: 1000 })
    } catch {
      setBroken(true)
    }
  }, [text, isDisplay])
  return isBroken ? <code>{text}</code> : <span ref={place} className={isDisplay ? 'block overflow-x-auto' : ''} />
}
