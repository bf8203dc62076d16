//! Telling Chinese with two bytes a letter from all else that has the same bytes.
//!
//! `chardetng` says which encoding is the likeliest, and knows no doubt: accented letters one after the other, Korean,
//! and pictures made of blocks are GBK to it, if there are few of them or few different ones. So what it found has to
//! look like Chinese too.

use std::collections::BTreeSet;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

use super::tell::Cut;
use super::{Encoding, chinese_letter};

/// Different letters from which on a text is long enough to be known by where in the table they are.
const LONG: usize = 8;

/// Hanzi that Chinese texts, and comments and messages of programs, have most often. The bytes of another encoding make
/// one of all 6,763 hanzi of GB 2312, and of these not one in ten is here.
const COMMON: &str = "\
    的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家\
    种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十\
    民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯\
    月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女\
    变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基\
    眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今\
    切院让识候带导争运笔星阶站找写删查改错误测试夹参返值函型注释配置默册登录户密码页请输例示服器库败缓存线异步调循环\
    列串符字节初始退停启执单元项版联增添减乘除算均余检读闭载编辑译校验证邮箱址姓男龄省县镇街号价订购买卖货币款账付费\
    免税额率百千亿零六七八九双半每季周秒钟晚早春夏秋冬您哪谁吗呢吧啊欢迎谢抱歉帮助搜索选择消复整支持简杂快速慢键鼠标\
    屏幕显隐藏图片视频音乐播暂继续网络断连超端协议包括警严限允拒绝否若章段落首尾左右顶底宽深颜红绿蓝黄黑灰背景粗细横\
    竖排序升降折叠树根叶流堆栈链哈希映射属承抽私静态宏引源具脚令终止境径缀称备份恢装卸级补丁修漏洞功模块组插扩依赖集\
    构造析毁申泄溢";

/// GBK or GB18030, if it is one of them.
pub(super) fn chinese(bytes: &[u8], cut: Cut) -> Option<Encoding> {
    let is_whole = cut == Cut::Nowhere;
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, is_whole);
    if detector.guess(None, Utf8Detection::Deny) != encoding_rs::GBK {
        return None;
    }
    let mut decoder = encoding_rs::GB18030.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length_without_replacement(bytes.len())?);
    let (read, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, is_whole);
    let is_text = read == encoding_rs::DecoderResult::InputEmpty
        && !text
            .chars()
            .any(|letter| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'));
    let letters = Letters::of(bytes, &text);
    (is_text && letters.are_chinese()).then_some(letters.encoding)
}

/// What the letters beyond ASCII are.
struct Letters {
    encoding: Encoding,
    /// Those of two different bytes: one byte that is repeated says nothing.
    pairs: usize,
    /// Those among them in the rows of the usual signs and hanzi.
    in_usual_rows: usize,
    hanzi: usize,
    common: usize,
    different: BTreeSet<char>,
}

impl Letters {
    fn of(bytes: &[u8], text: &str) -> Self {
        let mut letters = Self {
            encoding: Encoding::Gbk,
            pairs: 0,
            in_usual_rows: 0,
            hanzi: 0,
            common: 0,
            different: BTreeSet::new(),
        };
        let common: BTreeSet<char> = COMMON.chars().collect();
        let mut rest = bytes;
        for letter in text.chars() {
            let length = chinese_letter(rest);
            match rest {
                [_, _, ..] if length == 4 => letters.encoding = Encoding::Gb18030,
                [first, second, ..] if length == 2 && first != second => {
                    letters.pairs += 1;
                    letters.in_usual_rows +=
                        usize::from(matches!(first, 0xa1..=0xa3 | 0xb0..=0xd7) && *second >= 0xa1);
                    if matches!(letter, '\u{3400}'..'\u{a000}') {
                        letters.hanzi += 1;
                        letters.common += usize::from(common.contains(&letter));
                        letters.different.insert(letter);
                    }
                }
                _ => {}
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        letters
    }

    fn are_chinese(&self) -> bool {
        let common: BTreeSet<char> = COMMON.chars().collect();
        let different = self.different.len();
        if different < LONG {
            // Two at least, and two in three of them common.
            return different >= 2 && self.different.intersection(&common).count() * 3 >= different * 2;
        }
        self.in_usual_rows * 3 >= self.pairs * 2 && self.common * 3 >= self.hanzi
    }
}
