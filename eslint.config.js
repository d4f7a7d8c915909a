import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

// Which way imports point is a lint rule: the core knows no front end's window, the window knows only the contract.
const outsideRenderer = { group: ['**/server-core/*', '!**/server-core/contract', '!**/server-core/model-config', '!**/server-core/model-code', '!**/server-core/tensors', '**/electron/**', 'electron', 'node:*'], message: 'The window imports from server-core/contract, the pure config language in server-core/model-config and the rules about model.py in server-core/model-code and what is known about tensors in server-core/tensors only (docs/adr/0004).' }
const outsideCore = { group: ['electron', '**/electron/**', 'react', 'react-dom', '**/renderer/**'], message: 'server-core is plain Node: no Electron, no React.' }

export default tseslint.config(
  { ignores: ['dist/**', 'release/**', 'build/**', 'node_modules/**', 'test-results/**', 'playwright-report/**', 'native/**'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ['vitest.config.ts', 'renderer/vite.config.ts'] }, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  { files: ['server-core/**/*.ts'], rules: { 'no-restricted-imports': ['error', { patterns: [outsideCore] }] } },
  {
    files: ['renderer/**/*.ts', 'renderer/**/*.tsx'],
    plugins: { 'react-hooks': reactHooks },
    // The rule warns users of the React Compiler about TanStack Virtual; this project does not use that compiler.
    rules: { ...reactHooks.configs.recommended.rules, 'react-hooks/incompatible-library': 'off', 'no-restricted-imports': ['error', { patterns: [outsideRenderer] }] },
  },
  { files: ['**/*.config.ts'], rules: { 'no-restricted-imports': 'off' } },
  { files: ['scripts/**', 'e2e/**', 'server-core/bench/**', 'server-core/cli/**'], rules: { 'no-console': 'off' } },
)
