package tokens

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// corpus is a text of one kind, written by a small grammar so that it is the
// same everywhere and does not repeat itself.
type corpus struct {
	name string
	line func(*rand.Rand) string
}

func corpora() []corpus {
	return []corpus{
		{"english", englishLine},
		{"logs", logLine},
		{"code", codeLine},
		{"json", jsonLine},
		{"cjk", cjkLine},
	}
}

// text returns size bytes, cut at a line.
func (c corpus) text(size int) string {
	rnd := rand.New(rand.NewPCG(7, uint64(size)))
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(c.line(rnd))
	}
	return b.String()
}

// pick takes a word, the first ones most often.
func pick(rnd *rand.Rand, words []string) string {
	return words[int(float64(len(words))*rnd.Float64()*rnd.Float64()*rnd.Float64())]
}

var (
	english = strings.Fields(`the of and to in that it was for with on as his they be at one have this from or had by word but what some we
 can out other were all there when up use your how said an each she which do their time if will way about many then them write would
 like so these her long make thing see him two has look more day could go come did number sound no most people my over know water than
 call first who may down side been now find any new work part take get place made live where after back little only round man year came
 show every good me give our under name very through just form sentence great think say help low line differ turn cause much mean before
 move right boy old too same tell does set three want air well also play small end put home read hand port large spell add even land here
 must big high such follow act why ask men change went light kind off need house picture try us again animal point mother world near build
 self earth father service request gateway replica cluster configuration deployment memory latency throughput container restart connection
 timeout certificate namespace controller scheduler interface architecture unfortunately significantly performance environment regression
 maintainer documentation compatibility reproducible asynchronous acknowledgement bureaucracy kaleidoscope chrysanthemum onomatopoeia
 perspicacious tergiversation floccinaucinihilipilification Kowalczyk Papadopoulos Thiruvananthapuram Llanfairpwllgwyngyll Ouagadougou`)
	idents = strings.Fields(`err ctx req resp buf i n s t key value name path result config client server handler request token count index
 offset length parseHeader writeChunk newReader readBlock maxRetries defaultTimeout userAgent isValid hasPrefix byteCount lineNumber
 encodeSegment splitPieces mergeRanks snapshotStore tenantKey traceSpan upstreamCluster decodeError pendingBytes flushInterval`)
	cjk = strings.Fields(`的 是 在 了 和 我们 可以 系统 服务 请求 配置 如果 需要 这个 数据 文件 用户 时间 问题 使用 没有 一个 进行 通过 因为 所以 但是 已经 开始 结果 运行 测试
 错误 日志 网络 连接 超时 内存 缓存 集群 节点 部署 版本 更新 检查 返回 参数 函数 变量 类型 接口 模型 令牌 上下文 压缩 原始 内容 输出 输入 命令 工具 代码 编译 失败 成功 重试
 データ を の は が に 設定 エラー ファイル サーバー 実行 確認 してください 必要 場合 および ログ 接続 処理 情報 サービス 요청 서비스 오류 설정 데이터 파일 연결 시간 확인 결과 사용자 시스템
 性能 安全 证书 权限 目录 路径 端口 协议 响应 队列 并发 线程 进程 调度 资源 限制 监控 指标 告警 追踪 采样 会话 租户 密钥 加密 签名 校验 兼容 回滚 灰度 蓬勃 徘徊 囫囵吞枣 鳞次栉比`)
)

func englishLine(rnd *rand.Rand) string {
	var b strings.Builder
	for sentence := range 1 + rnd.IntN(6) {
		if sentence > 0 {
			b.WriteByte(' ')
		}
		for i := range 5 + rnd.IntN(16) {
			w := pick(rnd, english)
			switch {
			case i == 0:
				w = strings.ToUpper(w[:1]) + w[1:]
			case rnd.IntN(12) == 0:
				b.WriteString(", ")
			default:
				b.WriteByte(' ')
			}
			b.WriteString(w)
			if rnd.IntN(60) == 0 {
				b.WriteString("'s")
			}
		}
		b.WriteByte(".?!."[rnd.IntN(4)])
	}
	b.WriteString("\n\n"[:1+rnd.IntN(2)])
	return b.String()
}

func logLine(rnd *rand.Rand) string {
	return fmt.Sprintf("2025-0%d-%02dT%02d:%02d:%02d.%06dZ %-5s [%s-%d] %s: %s %s=%d duration=%dms trace_id=%016x 10.%d.%d.%d:%d\n",
		1+rnd.IntN(9), 1+rnd.IntN(28), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1e6), []string{"INFO", "WARN", "ERROR", "DEBUG"}[rnd.IntN(4)],
		pick(rnd, idents), rnd.IntN(64), pick(rnd, idents), pick(rnd, english)+" "+pick(rnd, english), pick(rnd, idents), rnd.IntN(1e5), rnd.IntN(5000),
		rnd.Uint64(), rnd.IntN(256), rnd.IntN(256), rnd.IntN(256), rnd.IntN(65536))
}

func codeLine(rnd *rand.Rand) string {
	a, b, c := pick(rnd, idents), pick(rnd, idents), pick(rnd, idents)
	switch rnd.IntN(6) {
	case 0:
		return fmt.Sprintf("// %s %s the %s %s, %s is %s.\nfunc (%s *%s) %s(ctx context.Context, %s []byte) (int, error) {\n", a, pick(rnd, english), b, pick(rnd, english), c, pick(rnd, english), a[:1], b, c, a)
	case 1:
		return fmt.Sprintf("\tif %s, err := %s.%s(%s[%d:]); err != nil {\n\t\treturn 0, fmt.Errorf(\"%s %s: %%w\", err)\n\t}\n", a, b, c, a, rnd.IntN(64), pick(rnd, english), b)
	case 2:
		return fmt.Sprintf("\tfor %s := range %s {\n\t\t%s[%s] = append(%s[%s], 0x%02X)\n\t}\n", a, b, c, a, c, a, rnd.IntN(256))
	case 3:
		return fmt.Sprintf("\t%s.%s = %s{%s: %d, \"%s\": true}\n", a, b, c, a, rnd.IntN(5000), pick(rnd, english))
	case 4:
		return fmt.Sprintf("\tswitch {\n\tcase %s > len(%s)-%d && %s != nil:\n\t\treturn %s\n\t}\n", a, b, rnd.IntN(9), c, a)
	default:
		return "\treturn " + a + ", nil\n}\n\n"
	}
}

func jsonLine(rnd *rand.Rand) string {
	return fmt.Sprintf("{\"id\":%d,\"%s\":\"%s %s\",\"%s\":{\"url\":\"https://api.example.com/v%d/%s/%d\",\"score\":%.4f,\"ok\":%t,\"tags\":[\"%s\",\"%s\"]},\"sha\":\"%016x\",\"at\":null},\n",
		rnd.IntN(1e7), pick(rnd, idents), pick(rnd, english), pick(rnd, english), pick(rnd, idents), rnd.IntN(4), pick(rnd, english), rnd.IntN(1e5),
		rnd.Float64(), rnd.IntN(2) == 0, pick(rnd, english), pick(rnd, idents), rnd.Uint64())
}

func cjkLine(rnd *rand.Rand) string {
	var b strings.Builder
	for range 2 + rnd.IntN(4) {
		for range 1 + rnd.IntN(6) {
			b.WriteString(pick(rnd, cjk))
		}
		b.WriteString([]string{"，", "。", "、", "：", "？", "（2025）", " API ", "😀"}[rnd.IntN(8)])
	}
	b.WriteByte('\n')
	return b.String()
}

func BenchmarkCount(b *testing.B) {
	for _, name := range encodings() {
		k := counterOf(b, name)
		for _, c := range corpora() {
			text := c.text(100 << 10)
			b.Run(name+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					n = k.Count(text).Tokens
				}
				b.ReportMetric(float64(len(text))/float64(n), "bytes/token")
			})
		}
	}
}

func BenchmarkAtLeast(b *testing.B) {
	k := counterOf(b, O200kBase)
	text := corpora()[0].text(1 << 20)
	for b.Loop() {
		if !k.AtLeast(text, 1000) {
			b.Fatal("1 MB of English has more than 1000 tokens")
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range encodings() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := newBPE(name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
