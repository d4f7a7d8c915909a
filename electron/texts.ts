/** What the shell itself says: menu, tray, dialogs. Both languages are complete, or it does not compile. */
import type { DesktopSettings } from '../server-core/contract/console-api.ts'

export type ShellLanguage = 'zh-CN' | 'en'

const english = {
  appName: 'NPU Serving Console',
  file: '&File',
  openRepository: '&Open model repository…',
  openRepositoryTitle: 'Open a model repository',
  openRecent: 'Open &recent',
  noRecent: 'Nothing opened yet',
  closeWindow: '&Close window',
  quit: '&Quit',
  edit: '&Edit',
  undo: '&Undo',
  redo: '&Redo',
  cut: 'Cu&t',
  copy: '&Copy',
  paste: '&Paste',
  selectAll: 'Select &all',
  view: '&View',
  overview: '&Overview',
  models: '&Models',
  monitor: 'Mo&nitor',
  settings: '&Settings',
  reload: '&Reload',
  developerTools: '&Developer tools',
  actualSize: '&Actual size',
  zoomIn: 'Zoom &in',
  zoomOut: 'Zoom &out',
  fullScreen: '&Full screen',
  engine: 'E&ngine',
  startEngine: '&Start engine',
  help: '&Help',
  dataFolder: 'Open &data folder',
  notices: '&Third-party notices',
  about: '&About NPU Serving Console',
  trayTooltip: 'NPU Serving Console: models are serving',
  trayShow: 'Show window',
  trayQuit: 'Stop serving and quit',
  closeQuestion: (models: number) => (models === 1 ? 'One model is serving.' : `${models} models are serving.`),
  closeDetail: 'Keep serving after the window is closed? The tray icon brings the window back; so does starting the console again.',
  closeKeep: 'Keep serving',
  closeStop: 'Stop serving',
  closeStay: 'Cancel',
  closeRemember: 'Do this every time',
  pageFailed: 'The page stopped working several times.',
  pageFailedDetail: (reason: string) => `Serving goes on. Reason: ${reason}. Close the window and open it again; if that does not help, restart the console.`,
}

export type ShellTexts = typeof english

const chinese: ShellTexts = {
  appName: 'NPU 推理服务控制台',
  file: '文件(&F)',
  openRepository: '打开模型仓库(&O)…',
  openRepositoryTitle: '打开模型仓库',
  openRecent: '最近打开(&R)',
  noRecent: '还没有打开过仓库',
  closeWindow: '关闭窗口(&C)',
  quit: '退出(&Q)',
  edit: '编辑(&E)',
  undo: '撤销(&U)',
  redo: '重做(&R)',
  cut: '剪切(&T)',
  copy: '复制(&C)',
  paste: '粘贴(&P)',
  selectAll: '全选(&A)',
  view: '视图(&V)',
  overview: '概览(&O)',
  models: '模型(&M)',
  monitor: '监控(&N)',
  settings: '设置(&S)',
  reload: '重新加载(&R)',
  developerTools: '开发者工具(&D)',
  actualSize: '实际大小(&A)',
  zoomIn: '放大(&I)',
  zoomOut: '缩小(&O)',
  fullScreen: '全屏(&F)',
  engine: '服务引擎(&N)',
  startEngine: '启动服务引擎(&S)',
  help: '帮助(&H)',
  dataFolder: '打开数据文件夹(&D)',
  notices: '第三方软件许可(&T)',
  about: '关于 NPU 推理服务控制台(&A)',
  trayTooltip: 'NPU 推理服务控制台：模型正在提供服务',
  trayShow: '显示窗口',
  trayQuit: '停止服务并退出',
  closeQuestion: (models) => `有 ${models} 个模型正在提供服务。`,
  closeDetail: '关闭窗口后继续提供服务吗？点击托盘图标或再次启动控制台即可恢复窗口。',
  closeKeep: '继续服务',
  closeStop: '停止服务',
  closeStay: '取消',
  closeRemember: '以后都这样处理',
  pageFailed: '页面多次停止工作。',
  pageFailedDetail: (reason) => `服务仍在继续。原因：${reason}。请关闭窗口后重新打开；如果仍未恢复，请重启控制台。`,
}

/** 'system' follows the locale of the desktop: Chinese where it is any Chinese, else English. */
export function shellLanguage(setting: DesktopSettings['language'], systemLocale: string): ShellLanguage {
  if (setting !== 'system') return setting
  return systemLocale.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en'
}

export function shellTexts(language: ShellLanguage): ShellTexts {
  return language === 'zh-CN' ? chinese : english
}
