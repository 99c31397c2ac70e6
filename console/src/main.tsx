import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme, storedTheme } from './style/theme.ts'
import './style/style.css'

applyTheme(storedTheme())

const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root.')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

// A page of an older version asks for files that are no more: the new version is loaded, once.
window.addEventListener('vite:preloadError', () => {
  const last = Number(sessionStorage.getItem('reeve.reloaded'))
  if (Date.now() - last < 60_000) return
  sessionStorage.setItem('reeve.reloaded', String(Date.now()))
  location.reload()
})
