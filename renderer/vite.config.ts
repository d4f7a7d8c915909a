import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/**
 * The window is served by `app://console` in the desktop and by the console port in a browser, under a content security policy that
 * allows scripts, workers and fonts from its own origin only. So nothing is inlined, and all addresses are relative.
 * Features that not every page needs (Monaco, viewers) are split off by their own dynamic import().
 */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: false,
  plugins: [react()],
  worker: { format: 'es' },
  build: {
    outDir: '../dist/renderer',
    emptyOutDir: true,
    target: 'chrome140',
    // Fonts and images as files: `data:` is not an allowed source of fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 4096,
    reportCompressedSize: false,
  },
})
