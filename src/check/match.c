// SPDX-License-Identifier: Apache-2.0
#include "check/checker.h"
void match_check(Checker *ck, const TExp *match) { (void)ck; (void)match; }
void match_check_pat(Checker *ck, const TPat *pat) { (void)ck; (void)pat; }
