/** The Prometheus front end (port 8002): `GET /metrics`, and nothing else (protocol section 10). */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { CpuMetricsReader } from '../../metrics/cpu-metrics.ts'
import { metricsPage } from '../../metrics/metric-families.ts'
import { npuMetricsPage } from '../../metrics/npu-metric-families.ts'
import { processMetricsPage } from '../../metrics/process-metrics.ts'
import type { DevicesView } from '../../telemetry/devices.ts'
import { type Frontend, type FrontendOptions, listen } from '../frontend.ts'

export interface MetricsFrontendOptions extends FrontendOptions {
  /** `--metrics-interval-ms`: how often the machine gauges are read. */
  readonly intervalMilliseconds?: number | undefined
  /** False: the page says nothing about processors and this process. */
  readonly hasCpuMetrics?: boolean | undefined
  /** Absent: the page says nothing about cards. */
  readonly devices?: DevicesView | undefined
  /** What backends count themselves; absent: nothing. */
  readonly backendMetrics?: (() => string) | undefined
}

const DEFAULT_INTERVAL_MILLISECONDS = 2000

/** @throws ServerError UNAVAILABLE that names the port and `--metrics-port` when it cannot be bound. */
export async function startMetricsFrontend(options: MetricsFrontendOptions): Promise<Frontend> {
  const { server, log, devices, backendMetrics, hasCpuMetrics = true } = options
  const cpu = new CpuMetricsReader()
  if (hasCpuMetrics) await cpu.update()
  const npuPage = () => (devices === undefined ? '' : npuMetricsPage(devices.samples(), devices.report()))
  const wholePage = () => metricsPage(server.modelMetrics(), hasCpuMetrics ? cpu.current : null) + (hasCpuMetrics ? processMetricsPage() : '') + npuPage() + (backendMetrics?.() ?? '')
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method !== 'GET') { response.writeHead(405, ['Content-Length', '0']).end(); return }
    const page = isMetricsPath(request.url ?? '') ? wholePage() : ''
    const body = Buffer.from(page)
    response.writeHead(200, ['Content-Type', 'text/plain; charset=utf-8', 'Content-Length', String(body.length)]).end(body)
  }
  const http = createServer({ requireHostHeader: false, noDelay: true, headersTimeout: 10_000, requestTimeout: 10_000 }, (request, response) => {
    try {
      answer(request, response)
    } catch (error) {
      log.error('the metrics page could not be made', { cause: error instanceof Error ? error.message : String(error) })
      response.writeHead(500, ['Content-Length', '0']).end()
    }
  })
  const bound = await listen(http, options.address, options.port, '--metrics-port')
  const timer = setInterval(() => { if (hasCpuMetrics) void cpu.update() }, options.intervalMilliseconds ?? DEFAULT_INTERVAL_MILLISECONDS)
  timer.unref()
  log.verbose(1, 'metrics service started', { address: bound.address, port: bound.port })
  return {
    ...bound,
    stop: async (timeoutSeconds) => {
      clearInterval(timer)
      const closed = new Promise<void>((resolve) => { http.close(() => { resolve() }) })
      http.closeIdleConnections()
      const deadline = setTimeout(() => { http.closeAllConnections() }, Math.min(timeoutSeconds, 1) * 1000)
      await closed
      clearTimeout(deadline)
    },
  }
}

function isMetricsPath(url: string): boolean {
  const query = url.indexOf('?')
  return (query < 0 ? url : url.slice(0, query)) === '/metrics'
}
