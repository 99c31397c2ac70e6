import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compression } from 'vite-plugin-compression2'

// `npm run dev` starts Reeve at 8080 and this at 5173: what is not the console's own is asked from Reeve.
const SERVER = 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  plugins: [react(), tailwindcss(), compression({ algorithms: ['gzip', 'brotliCompress'], threshold: 1024 })],
  build: {
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0, // the policy of the page allows no data: font or script
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500, // editor, formulas and LaTeX load when they are needed; test/console/bundle.test.ts limits the rest
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy: {
      '^/(?!console(?:/|$)|@|src/|node_modules/|$)': { target: SERVER, ws: true },
    },
  },
})
