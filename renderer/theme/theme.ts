/** The three themes as FluentProvider takes them: Fluent's own, our overrides, and our tokens beside them. */
import { createDarkTheme, createLightTheme, teamsHighContrastTheme } from '@fluentui/react-components'
import type { Theme } from '@fluentui/react-components'
import { brandRamp, neutralTokens, npuTokens } from './tokens.ts'
import type { NpuTokens, ThemeName } from './tokens.ts'

const shared: Partial<Theme> = {
  fontFamilyBase: '"Segoe UI", "Noto Sans", "Noto Sans CJK SC", "Source Han Sans SC", "Microsoft YaHei", system-ui, "Noto Sans SC", sans-serif',
  fontFamilyMonospace: '"Cascadia Mono", "Noto Sans Mono", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "Noto Sans SC", monospace',
  durationFaster: '120ms', durationFast: '120ms', durationNormal: '200ms', durationGentle: '200ms', durationSlow: '320ms', durationSlower: '320ms', durationUltraSlow: '320ms',
}

export const themes: Readonly<Record<ThemeName, Theme & NpuTokens>> = {
  light: { ...createLightTheme(brandRamp), ...shared, ...neutralTokens.light, ...npuTokens.light },
  dark: { ...createDarkTheme(brandRamp), ...shared, ...neutralTokens.dark, ...npuTokens.dark },
  contrast: { ...teamsHighContrastTheme, ...shared, ...npuTokens.contrast },
}
