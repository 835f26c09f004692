nino sekvas cavo
arbo rosa sekvas vulo velha
arbo rosa trovas vulo e rego peta trovas bubo
nino kura vidas rego dum rego amas nino e rego sekvas bubo e nino amas rego ma cavo vidas flumo peta
rego trovas arbo dum cavo rosa sekvas domo rosa
flumo sekvas cavo
cavo sekvas rego ma nino sekvas rego e domo amas arbo kura dum flumo vidas arbo peta e nino trovas vulo kura
rego peta amas rego
arbo velha amas nino peta dum vulo rosa amas vulo e nino rosa amas bubo e nino peta trovas arbo dum nino kura sekvas domo velha ma bubo trovas arbo velha
arbo rosa sekvas rego
arbo amas cavo
rego sekvas vulo peta e rego peta vidas arbo ma vulo peta amas arbo peta
rego trovas nino
rego peta vidas bubo
cavo amas arbo kura dum arbo trovas flumo
vulo kura sekvas rego velha e cavo peta amas nino ma rego velha sekvas bubo ma bubo velha vidas nino peta ma rego velha vidas arbo
arbo kura amas domo kura
vulo peta trovas flumo dum cavo rosa vidas nino
nino amas vulo ma domo peta amas domo dum domo amas cavo dum rego sekvas rego
flumo peta trovas bubo
flumo vidas bubo peta ma vulo velha vidas rego
domo kura sekvas domo dum domo trovas nino velha
flumo sekvas flumo rosa dum vulo kura amas nino e vulo amas cavo
cavo trovas rego ma rego velha amas nino peta
nino velha vidas cavo rosa e bubo amas rego
rego vidas vulo kura
vulo trovas cavo dum domo trovas vulo e nino amas vulo
cavo velha sekvas vulo rosa dum bubo rosa trovas flumo kura
nino vidas flumo kura ma arbo peta trovas cavo dum arbo kura sekvas nino
bubo trovas nino velha ma domo vidas nino rosa e arbo velha amas flumo
bubo kura vidas rego e flumo peta trovas flumo dum arbo kura sekvas domo
bubo velha trovas flumo rosa ma domo vidas domo e arbo sekvas bubo ma bubo sekvas domo
bubo rosa trovas rego e flumo rosa sekvas vulo ma flumo amas rego peta dum arbo kura vidas cavo ma arbo peta amas bubo kura
cavo velha vidas rego velha
bubo trovas rego e nino vidas domo dum flumo kura sekvas arbo peta ma rego vidas nino e domo trovas arbo peta dum arbo trovas arbo rosa e domo vidas arbo e arbo velha amas flumo velha e flumo velha vidas domo
vulo rosa trovas vulo kura
bubo vidas cavo velha
bubo velha trovas nino ma vulo rosa sekvas nino kura ma arbo kura vidas domo dum domo velha trovas bubo rosa ma vulo rosa trovas nino ma domo kura sekvas bubo peta e nino velha amas cavo dum nino kura amas cavo
bubo velha trovas domo rosa ma cavo velha sekvas cavo rosa ma domo velha amas vulo velha e bubo peta amas nino rosa
vulo trovas domo ma arbo peta vidas flumo peta dum domo vidas rego e nino peta sekvas flumo kura
domo peta trovas arbo velha e rego velha vidas cavo dum vulo velha sekvas flumo velha e vulo vidas rego rosa
domo rosa trovas rego
vulo vidas flumo peta e domo trovas rego ma arbo kura trovas cavo ma nino rosa vidas rego velha
bubo peta amas domo dum arbo amas domo velha
flumo rosa trovas arbo peta
rego vidas arbo ma rego sekvas bubo e vulo kura trovas vulo e nino peta amas vulo velha
rego trovas arbo e vulo kura amas vulo ma bubo velha trovas bubo velha e vulo sekvas cavo velha
nino vidas domo
flumo sekvas cavo peta ma rego rosa trovas cavo
rego trovas nino velha ma arbo sekvas cavo
vulo sekvas bubo e arbo kura sekvas cavo
arbo rosa vidas rego
rego amas rego
arbo vidas vulo kura e flumo amas rego peta
rego amas domo ma rego amas vulo velha dum cavo rosa amas arbo rosa dum arbo rosa amas vulo ma vulo velha vidas bubo rosa
vulo amas vulo
vulo kura amas domo dum domo rosa trovas rego velha ma vulo trovas bubo peta e arbo kura sekvas vulo e nino sekvas rego velha e rego rosa vidas rego ma domo amas arbo rosa e bubo vidas nino
domo trovas rego kura e nino rosa vidas nino kura dum rego velha trovas rego
cavo vidas cavo velha e domo trovas vulo
rego amas arbo rosa
nino velha trovas bubo ma flumo rosa amas cavo ma domo vidas vulo ma arbo kura trovas domo ma vulo rosa vidas nino rosa
domo amas domo
nino rosa vidas nino velha
nino peta vidas rego e bubo vidas flumo peta
nino sekvas rego
vulo rosa vidas vulo velha ma rego amas vulo ma vulo peta trovas nino dum vulo amas cavo
flumo kura amas domo kura dum cavo peta vidas rego dum rego amas nino
arbo kura amas nino velha
flumo velha sekvas domo peta e vulo kura sekvas arbo e cavo kura sekvas bubo
arbo vidas cavo
vulo peta sekvas nino rosa ma domo trovas nino rosa ma cavo peta vidas domo kura e nino rosa sekvas arbo
cavo trovas domo dum flumo amas nino peta
bubo sekvas cavo ma arbo rosa vidas nino dum flumo peta trovas vulo kura e rego velha amas arbo
vulo trovas domo dum rego trovas flumo peta e vulo rosa amas rego
nino trovas flumo velha
rego trovas flumo
arbo sekvas vulo e nino rosa sekvas vulo kura ma vulo vidas cavo e bubo amas bubo
rego trovas cavo velha ma nino amas flumo velha dum cavo velha trovas flumo velha
vulo amas vulo ma vulo trovas arbo peta
cavo rosa trovas domo
arbo peta vidas vulo ma cavo velha amas rego e rego amas rego peta
vulo kura trovas arbo e vulo velha trovas vulo ma nino peta sekvas flumo ma domo velha trovas arbo
bubo kura amas vulo e rego sekvas nino e arbo kura sekvas nino kura
arbo amas bubo
bubo amas cavo peta
bubo amas vulo peta e cavo trovas vulo rosa dum nino trovas nino velha ma arbo vidas nino
domo sekvas domo
nino trovas nino
nino rosa trovas nino rosa
domo trovas rego peta
bubo rosa amas cavo peta dum arbo velha amas cavo dum bubo rosa sekvas nino kura dum flumo sekvas rego
bubo peta sekvas domo ma flumo peta amas rego dum vulo rosa amas domo
nino amas arbo kura
bubo sekvas rego ma flumo velha sekvas flumo peta
rego amas domo kura
domo kura trovas bubo e nino trovas arbo peta ma cavo peta amas nino e nino amas flumo peta
vulo amas cavo dum domo vidas vulo velha
vulo peta vidas cavo velha dum flumo rosa trovas nino peta e bubo kura trovas rego kura dum bubo velha trovas domo kura
nino sekvas rego kura e domo amas arbo velha
rego rosa vidas rego ma arbo vidas rego kura
arbo velha vidas domo
flumo trovas arbo kura
bubo peta sekvas vulo
arbo peta sekvas rego rosa dum bubo vidas arbo peta
vulo kura trovas rego e vulo kura sekvas rego
nino sekvas cavo e nino rosa trovas rego velha dum nino rosa amas arbo ma vulo vidas vulo velha dum nino velha amas cavo rosa e nino sekvas cavo peta
bubo rosa sekvas cavo velha dum cavo sekvas rego velha ma domo vidas bubo dum flumo peta sekvas rego
arbo sekvas nino ma domo vidas nino e cavo rosa trovas nino velha
vulo rosa amas arbo velha e cavo amas vulo rosa e arbo peta amas vulo e rego peta amas vulo dum bubo sekvas arbo rosa e nino peta sekvas arbo dum arbo kura trovas nino dum vulo velha sekvas cavo rosa e flumo vidas vulo velha e bubo kura amas nino
bubo kura trovas vulo
cavo kura trovas arbo e arbo sekvas nino peta dum arbo rosa amas domo peta
bubo rosa vidas vulo peta
rego amas flumo peta dum flumo trovas bubo rosa dum flumo kura sekvas cavo
flumo amas bubo kura dum rego trovas vulo rosa dum arbo amas arbo rosa e nino sekvas nino kura
flumo vidas cavo dum arbo vidas rego
cavo kura amas flumo
cavo kura trovas vulo dum flumo sekvas nino e domo rosa sekvas nino
flumo kura trovas domo
rego sekvas vulo peta ma cavo velha trovas cavo e bubo sekvas bubo dum arbo kura sekvas rego e domo amas vulo peta
nino sekvas bubo velha e domo rosa amas domo rosa
cavo trovas vulo ma rego rosa amas cavo velha ma arbo kura sekvas flumo rosa e vulo amas arbo
arbo vidas bubo
rego amas bubo
arbo vidas nino kura e nino rosa sekvas vulo rosa
bubo peta amas bubo dum domo peta amas flumo
bubo trovas arbo dum bubo sekvas bubo dum bubo amas nino peta e flumo velha sekvas arbo peta
domo vidas cavo e bubo rosa amas arbo velha
bubo vidas flumo dum domo velha sekvas flumo kura dum arbo trovas bubo
flumo vidas domo peta
bubo peta trovas nino ma nino trovas domo dum rego amas nino peta ma rego rosa sekvas bubo
nino vidas arbo peta e nino vidas flumo velha
arbo vidas domo velha
domo vidas bubo velha ma arbo peta amas vulo kura
vulo sekvas nino ma arbo peta trovas rego kura ma vulo sekvas domo kura
nino peta trovas nino e flumo amas cavo e vulo velha vidas rego kura e arbo vidas cavo peta
nino vidas nino peta dum vulo vidas bubo peta e domo amas arbo kura e flumo peta vidas arbo peta e domo trovas bubo
cavo vidas domo
bubo amas nino
arbo sekvas nino velha
cavo vidas domo ma nino trovas bubo dum nino amas cavo peta
arbo vidas arbo
cavo rosa sekvas nino dum vulo velha sekvas vulo peta e domo trovas rego
nino kura sekvas vulo ma vulo sekvas rego dum arbo sekvas nino velha dum rego vidas nino e arbo rosa amas rego rosa ma nino trovas vulo velha ma rego sekvas bubo e rego rosa vidas domo velha dum cavo sekvas cavo
arbo vidas rego kura e vulo sekvas arbo velha ma cavo peta amas domo peta
flumo sekvas bubo
arbo vidas rego dum arbo amas arbo kura ma flumo rosa vidas domo e arbo velha trovas bubo velha
rego amas rego dum cavo kura sekvas domo dum bubo kura trovas flumo rosa dum arbo velha sekvas domo dum cavo rosa sekvas arbo e arbo peta trovas arbo dum flumo rosa sekvas flumo velha
cavo peta trovas nino ma nino kura vidas bubo kura dum bubo peta trovas cavo peta e domo peta sekvas arbo kura ma flumo trovas cavo e nino kura sekvas bubo dum arbo amas flumo velha ma vulo amas rego rosa dum rego velha vidas vulo ma bubo sekvas rego
cavo velha amas bubo peta ma nino velha vidas domo
nino trovas nino rosa
cavo amas domo
nino velha sekvas cavo
domo amas rego
rego rosa amas vulo
arbo peta amas flumo peta
nino trovas domo e cavo vidas vulo ma cavo velha sekvas arbo peta ma flumo amas nino kura ma nino trovas rego velha
vulo kura trovas rego
rego velha amas domo ma cavo peta sekvas cavo rosa e domo trovas flumo rosa
cavo sekvas arbo
domo rosa trovas rego
cavo amas arbo dum nino rosa trovas flumo rosa e arbo sekvas domo
domo velha vidas bubo velha dum vulo vidas vulo
bubo rosa sekvas domo kura ma rego vidas bubo velha
bubo kura amas cavo dum rego vidas rego dum vulo amas rego
rego sekvas bubo e arbo trovas rego kura dum bubo rosa sekvas nino kura
nino velha trovas arbo peta ma nino rosa amas bubo rosa
rego kura sekvas vulo velha e vulo rosa sekvas domo peta
flumo vidas cavo kura
flumo rosa sekvas flumo velha e rego peta trovas flumo
rego sekvas domo kura dum nino vidas domo e rego trovas flumo dum flumo vidas flumo velha ma arbo rosa sekvas flumo velha ma flumo amas vulo e domo trovas arbo peta
flumo kura amas nino peta
domo rosa vidas domo kura dum domo rosa amas arbo e rego rosa sekvas vulo kura
cavo amas nino
rego kura amas arbo
arbo amas arbo kura dum arbo peta sekvas flumo kura
bubo trovas nino
cavo rosa vidas bubo rosa ma nino rosa vidas domo kura
rego vidas bubo velha
rego vidas flumo dum flumo velha sekvas nino e domo amas flumo dum flumo amas rego rosa ma rego kura trovas bubo
vulo vidas flumo velha
flumo amas arbo dum arbo rosa sekvas arbo e domo sekvas vulo dum domo sekvas nino e cavo sekvas arbo ma rego peta vidas domo kura ma nino sekvas flumo
arbo rosa trovas rego kura dum flumo trovas bubo peta ma vulo vidas rego velha dum flumo rosa trovas rego
nino kura amas domo dum cavo trovas rego velha
domo sekvas domo peta ma nino sekvas rego dum bubo trovas bubo
nino sekvas bubo kura
nino velha trovas nino
cavo rosa vidas domo dum nino kura sekvas cavo
cavo kura vidas cavo rosa dum bubo rosa sekvas nino
vulo peta vidas domo rosa e cavo velha amas flumo velha ma flumo trovas domo kura
vulo velha vidas arbo rosa
arbo amas vulo
flumo vidas domo e rego vidas arbo dum flumo peta amas domo peta
arbo kura amas bubo peta dum nino peta amas arbo rosa
cavo amas rego ma nino kura sekvas flumo e rego peta trovas vulo ma arbo peta sekvas flumo peta dum flumo trovas arbo ma vulo peta vidas nino dum cavo amas rego
rego vidas flumo velha dum domo amas domo
rego rosa trovas arbo velha
flumo sekvas cavo
flumo velha amas nino rosa dum domo kura amas flumo kura
nino peta vidas rego velha e domo amas cavo dum vulo velha sekvas rego kura
rego trovas bubo ma flumo rosa amas bubo rosa e rego trovas domo
domo velha vidas nino velha
bubo kura trovas bubo ma bubo vidas arbo velha dum cavo trovas domo velha dum bubo amas flumo velha
vulo sekvas domo peta
flumo velha amas arbo ma vulo kura vidas nino kura dum flumo peta vidas cavo
flumo velha trovas nino velha ma vulo kura trovas domo dum domo vidas rego ma flumo kura vidas vulo e domo velha vidas arbo dum vulo vidas nino peta e cavo sekvas rego ma rego velha sekvas nino
cavo rosa amas vulo kura e nino kura sekvas domo peta dum rego sekvas bubo rosa
rego amas bubo kura e cavo peta vidas arbo kura ma flumo rosa amas flumo ma arbo rosa trovas flumo velha dum vulo kura sekvas bubo ma bubo amas bubo dum flumo sekvas cavo dum arbo peta trovas vulo kura e vulo velha trovas rego peta
nino velha trovas domo ma flumo peta trovas vulo kura dum flumo rosa amas flumo velha
arbo vidas arbo
rego kura amas domo ma flumo sekvas cavo ma domo trovas rego rosa ma cavo trovas cavo dum arbo rosa amas nino rosa ma flumo amas bubo velha ma bubo amas bubo dum domo velha trovas domo rosa
cavo trovas bubo velha
nino amas vulo rosa e vulo peta sekvas vulo
vulo peta vidas arbo e arbo peta sekvas domo
domo velha trovas rego peta e rego velha amas cavo
vulo kura amas arbo dum nino trovas cavo peta e arbo vidas flumo dum nino velha vidas rego dum rego peta amas arbo
flumo trovas domo rosa dum arbo rosa amas vulo dum flumo amas nino ma flumo kura trovas rego rosa
arbo sekvas arbo dum domo kura sekvas vulo
nino kura sekvas arbo velha e nino peta vidas vulo rosa dum nino velha amas domo rosa ma rego trovas rego peta e nino rosa vidas flumo rosa ma rego peta amas rego
domo velha trovas vulo rosa
nino vidas flumo rosa
vulo rosa trovas cavo kura e domo velha amas arbo ma bubo vidas nino velha
bubo trovas nino peta
rego trovas arbo rosa ma nino amas rego velha dum arbo trovas nino e cavo amas nino
arbo amas nino peta ma nino trovas vulo rosa ma vulo rosa amas rego dum flumo trovas nino
domo rosa vidas vulo ma nino rosa sekvas flumo peta dum bubo rosa sekvas bubo dum rego amas domo rosa
arbo peta trovas vulo rosa dum cavo kura trovas flumo kura dum flumo trovas domo dum arbo sekvas domo peta ma arbo trovas bubo
rego trovas domo dum rego rosa amas nino dum nino rosa trovas rego peta
cavo peta trovas vulo e domo trovas arbo peta
nino vidas bubo kura dum arbo rosa amas vulo ma flumo amas arbo rosa e vulo peta amas cavo velha
rego rosa amas rego
nino sekvas arbo kura ma arbo trovas arbo rosa e vulo amas domo
nino peta vidas rego rosa e domo peta sekvas vulo kura
arbo trovas arbo peta
flumo amas nino
vulo kura sekvas vulo kura dum arbo vidas nino rosa dum rego vidas arbo velha
cavo peta trovas domo
arbo velha trovas rego e domo kura vidas cavo peta
vulo trovas bubo
flumo sekvas flumo e arbo trovas domo ma vulo kura sekvas nino velha e cavo vidas vulo
nino kura vidas domo rosa e domo sekvas cavo velha dum flumo trovas flumo dum vulo rosa sekvas vulo kura e bubo kura amas bubo kura e rego trovas flumo rosa e nino peta amas nino ma bubo rosa sekvas bubo dum flumo velha amas domo rosa e bubo sekvas domo e bubo peta amas bubo
cavo amas bubo dum vulo velha vidas domo ma arbo vidas domo velha ma cavo amas vulo ma domo rosa trovas nino velha dum vulo trovas cavo
rego vidas nino
flumo trovas arbo rosa e domo amas cavo kura dum nino velha vidas domo ma rego peta sekvas vulo
arbo sekvas flumo kura ma flumo vidas domo ma arbo rosa amas domo peta
domo peta trovas domo peta
rego vidas cavo dum arbo kura amas domo rosa ma cavo velha sekvas bubo
rego vidas domo ma arbo sekvas domo velha
bubo vidas domo
cavo vidas rego ma nino vidas arbo e bubo vidas domo e rego kura trovas nino kura
nino rosa vidas vulo ma cavo peta trovas domo e domo sekvas domo velha dum flumo sekvas domo
bubo sekvas domo peta ma rego trovas bubo
cavo rosa trovas bubo
flumo rosa amas bubo
nino peta vidas cavo e cavo peta trovas domo dum arbo trovas flumo e domo velha trovas domo e rego sekvas arbo dum domo vidas vulo e flumo sekvas arbo dum arbo vidas flumo velha
domo trovas vulo kura dum bubo trovas flumo kura ma flumo velha trovas flumo e domo trovas flumo dum nino velha sekvas nino
nino trovas vulo kura ma nino velha trovas bubo dum flumo kura amas domo ma bubo sekvas bubo dum bubo amas nino
bubo velha trovas cavo peta
bubo amas bubo ma flumo kura sekvas domo ma nino rosa trovas cavo ma rego velha vidas bubo e bubo velha sekvas vulo
arbo amas arbo rosa e nino kura trovas arbo kura dum arbo amas bubo peta ma rego trovas cavo peta
vulo amas flumo peta e bubo peta sekvas nino velha e flumo amas cavo
domo rosa sekvas bubo ma nino rosa trovas arbo rosa e flumo velha trovas flumo velha ma bubo vidas rego
cavo vidas flumo ma bubo velha amas arbo
vulo velha trovas vulo e arbo vidas nino kura dum vulo sekvas domo rosa e domo velha vidas bubo
vulo velha sekvas arbo peta
arbo trovas cavo ma cavo vidas cavo ma nino amas bubo dum nino sekvas vulo peta
cavo velha amas cavo rosa e flumo amas vulo velha e rego sekvas domo kura
arbo peta amas arbo
domo vidas bubo rosa ma domo kura sekvas bubo dum flumo peta sekvas nino kura
nino trovas nino peta dum arbo sekvas nino ma domo trovas vulo ma arbo trovas arbo
flumo peta sekvas domo peta e flumo amas cavo e arbo peta sekvas vulo rosa e rego amas vulo e cavo velha sekvas domo
cavo peta sekvas vulo
bubo amas cavo
cavo trovas vulo peta
flumo rosa amas domo dum nino kura sekvas cavo dum cavo velha sekvas cavo
flumo trovas flumo dum domo amas nino dum bubo amas flumo rosa dum domo kura amas cavo rosa
arbo trovas nino kura dum bubo velha amas bubo
cavo kura vidas vulo ma bubo velha sekvas arbo rosa
arbo kura amas domo dum vulo sekvas flumo velha
arbo amas cavo e flumo rosa vidas rego ma rego velha trovas flumo e cavo sekvas flumo ma domo velha vidas arbo
vulo velha amas rego
flumo rosa amas arbo dum cavo velha trovas cavo peta
nino peta vidas flumo velha
cavo sekvas flumo rosa e arbo peta trovas rego kura dum domo velha trovas rego velha
nino peta amas bubo kura
cavo rosa vidas vulo e bubo rosa vidas nino rosa e arbo kura sekvas bubo rosa dum bubo sekvas bubo kura ma nino velha amas domo velha
rego rosa amas rego peta e domo velha vidas cavo
nino velha trovas bubo dum domo sekvas arbo e domo velha trovas flumo rosa
domo kura trovas bubo dum nino trovas vulo dum domo rosa trovas nino
vulo amas flumo rosa
domo amas arbo dum arbo trovas arbo velha
domo peta trovas vulo peta
vulo trovas rego peta dum vulo rosa sekvas arbo dum vulo kura vidas vulo dum bubo amas vulo
nino amas vulo ma rego kura amas domo ma flumo peta vidas flumo dum flumo velha vidas bubo dum vulo sekvas arbo peta
vulo peta sekvas nino peta
flumo amas cavo kura e domo amas domo
nino kura sekvas bubo rosa ma bubo vidas domo peta
rego sekvas flumo ma bubo amas vulo rosa ma nino vidas rego
nino vidas rego
nino kura vidas domo rosa dum domo peta amas nino
vulo sekvas cavo ma nino trovas cavo rosa e cavo velha vidas nino
bubo sekvas rego
bubo vidas domo peta e bubo rosa amas flumo velha e nino trovas domo
vulo rosa amas cavo dum vulo sekvas arbo rosa ma rego vidas bubo rosa e cavo rosa trovas flumo rosa e rego vidas rego velha dum domo peta sekvas nino e rego velha vidas cavo rosa
vulo sekvas flumo velha
bubo velha vidas vulo velha
domo velha amas bubo e vulo velha sekvas bubo ma domo trovas flumo dum nino vidas nino peta dum flumo peta amas domo velha ma domo velha trovas arbo velha
arbo peta sekvas rego peta
cavo vidas cavo rosa dum bubo trovas vulo kura e bubo vidas arbo velha
domo trovas flumo rosa
vulo trovas cavo peta ma arbo amas bubo rosa
bubo trovas arbo kura ma bubo velha trovas rego rosa
nino rosa amas flumo velha dum cavo velha sekvas flumo ma domo vidas rego rosa e cavo velha vidas vulo peta dum bubo sekvas rego
cavo kura sekvas cavo dum domo trovas domo
nino kura vidas flumo
rego vidas nino dum vulo sekvas domo e cavo rosa vidas bubo rosa e nino velha trovas domo dum nino trovas nino rosa ma rego trovas bubo
cavo trovas flumo ma bubo velha sekvas cavo dum rego amas flumo
cavo peta trovas flumo rosa e flumo amas arbo
cavo sekvas domo e nino sekvas arbo
nino rosa amas domo
flumo kura amas vulo velha e vulo sekvas bubo dum bubo peta sekvas flumo kura dum flumo peta trovas domo e bubo amas flumo velha
rego trovas arbo peta
bubo sekvas nino rosa
flumo velha vidas flumo velha dum arbo peta amas vulo rosa dum domo vidas nino velha dum vulo amas arbo
nino velha sekvas bubo rosa ma vulo sekvas vulo ma domo sekvas domo
cavo sekvas rego
cavo sekvas domo peta
nino peta sekvas cavo ma flumo kura sekvas flumo ma flumo velha amas cavo e rego trovas vulo dum rego peta vidas cavo peta ma arbo amas rego e cavo trovas vulo ma vulo peta amas nino peta ma domo amas rego velha
flumo peta amas rego rosa
flumo peta trovas flumo rosa dum domo amas bubo kura dum arbo kura vidas bubo
flumo peta amas rego
flumo rosa vidas rego ma nino trovas cavo
cavo vidas domo ma cavo peta vidas vulo rosa ma arbo velha sekvas domo kura e nino rosa sekvas domo velha dum flumo peta amas bubo peta ma arbo velha trovas cavo
arbo amas vulo rosa dum arbo peta amas nino ma domo kura sekvas cavo
nino amas bubo rosa ma bubo velha trovas nino rosa
bubo velha trovas bubo kura
cavo kura vidas vulo peta e flumo trovas domo rosa dum rego rosa amas bubo kura e flumo velha amas domo rosa
vulo velha trovas arbo e arbo kura trovas flumo ma arbo rosa sekvas cavo dum rego peta trovas rego kura e cavo velha vidas cavo ma vulo sekvas vulo rosa
domo peta vidas bubo dum rego vidas arbo
arbo velha sekvas flumo velha e vulo sekvas flumo rosa ma vulo peta vidas vulo rosa e nino trovas domo kura
rego peta amas rego kura ma bubo rosa vidas arbo velha
nino rosa vidas domo kura dum bubo kura vidas flumo dum nino peta vidas rego velha ma arbo vidas nino velha ma domo kura vidas arbo peta ma arbo amas flumo rosa dum cavo sekvas arbo peta
vulo peta sekvas rego dum domo peta sekvas bubo peta
cavo amas domo peta
vulo rosa trovas arbo velha
domo trovas domo e flumo sekvas cavo ma bubo vidas flumo
nino trovas domo
cavo sekvas bubo e domo rosa vidas arbo velha dum nino kura vidas domo
nino peta trovas arbo kura e rego sekvas nino kura
rego amas arbo kura ma cavo sekvas rego ma bubo amas cavo velha
domo velha amas domo velha
flumo vidas bubo kura e bubo kura vidas bubo peta e domo amas cavo ma rego rosa trovas flumo
rego rosa trovas rego
bubo amas cavo
bubo vidas flumo peta dum nino velha sekvas cavo kura e flumo sekvas arbo
flumo vidas domo velha ma arbo kura vidas arbo ma nino trovas domo ma domo rosa trovas nino dum rego peta vidas vulo kura dum bubo kura amas arbo rosa
bubo velha vidas bubo kura
cavo vidas bubo kura
domo kura sekvas vulo ma rego kura trovas rego kura ma domo peta vidas nino
domo velha vidas domo dum cavo peta vidas arbo velha
rego sekvas arbo kura
domo amas rego ma domo trovas arbo
nino rosa sekvas flumo rosa
flumo kura trovas domo peta
bubo amas vulo dum cavo trovas vulo dum cavo amas nino dum nino velha trovas nino e cavo vidas rego ma arbo rosa amas domo peta e domo amas domo kura dum domo rosa amas arbo
vulo vidas rego rosa
flumo velha trovas nino
domo peta sekvas nino peta ma bubo peta vidas arbo ma cavo trovas flumo velha
bubo peta amas cavo kura
cavo sekvas nino velha
vulo kura sekvas rego velha e nino peta amas vulo kura
rego velha sekvas arbo e cavo kura amas rego velha
bubo kura sekvas vulo dum nino sekvas cavo
bubo amas nino ma vulo sekvas arbo rosa
nino rosa trovas arbo peta e vulo peta trovas bubo peta
domo vidas rego e cavo peta trovas arbo velha dum cavo amas domo
vulo amas flumo e bubo trovas nino
bubo vidas nino e flumo sekvas vulo dum bubo vidas rego ma nino vidas nino peta
flumo rosa sekvas vulo peta ma arbo trovas bubo kura ma bubo rosa sekvas vulo e vulo sekvas nino e domo vidas rego peta
cavo amas vulo kura
domo sekvas arbo e bubo vidas arbo peta dum rego vidas domo ma arbo peta trovas flumo kura
vulo amas bubo peta ma cavo amas nino kura ma nino kura trovas domo dum nino trovas arbo
nino sekvas arbo
rego kura vidas vulo velha e arbo amas cavo dum vulo velha trovas rego peta ma arbo kura amas domo dum flumo peta amas cavo
domo sekvas flumo rosa
vulo amas nino velha dum domo peta vidas vulo rosa
arbo trovas domo velha dum domo kura amas bubo kura ma flumo vidas vulo ma vulo kura sekvas vulo rosa ma nino rosa vidas rego
bubo sekvas cavo velha dum cavo rosa vidas arbo kura ma nino vidas domo e cavo kura trovas arbo dum flumo trovas cavo ma flumo rosa trovas nino peta ma flumo velha amas flumo e vulo peta sekvas rego velha dum bubo kura trovas vulo
domo peta trovas domo ma vulo sekvas vulo
rego velha trovas rego peta ma bubo vidas cavo
flumo rosa trovas cavo rosa
flumo sekvas nino
domo trovas bubo dum flumo kura trovas vulo
vulo vidas bubo rosa
arbo velha trovas arbo velha ma rego sekvas bubo velha dum domo rosa trovas rego peta
cavo peta sekvas domo velha ma domo amas flumo rosa ma cavo trovas domo rosa
arbo sekvas bubo rosa ma rego amas vulo velha e flumo velha trovas domo kura ma vulo rosa sekvas bubo dum vulo rosa sekvas bubo velha dum vulo peta vidas rego velha ma domo trovas bubo kura e nino sekvas rego rosa e bubo trovas flumo
rego vidas domo e flumo trovas nino dum vulo vidas cavo kura e bubo vidas arbo rosa e cavo kura vidas bubo dum vulo trovas rego rosa dum arbo rosa vidas rego e rego sekvas arbo e vulo rosa sekvas bubo peta
flumo sekvas cavo rosa e arbo sekvas vulo rosa e bubo amas cavo peta e rego peta sekvas flumo rosa e nino vidas rego kura dum rego velha vidas nino velha dum arbo amas flumo rosa ma vulo vidas cavo kura e arbo sekvas domo ma arbo peta vidas rego
rego vidas flumo kura
arbo amas arbo ma arbo peta amas cavo
bubo sekvas vulo dum vulo vidas arbo velha e arbo kura sekvas bubo velha
rego sekvas flumo velha e rego sekvas rego ma vulo velha sekvas flumo velha
flumo trovas rego
vulo peta amas bubo rosa e arbo peta sekvas rego rosa dum domo kura trovas nino dum domo kura trovas arbo peta
cavo peta trovas vulo e nino vidas vulo rosa dum vulo sekvas flumo dum vulo velha vidas rego
arbo vidas vulo peta ma flumo velha amas vulo velha ma rego rosa trovas domo ma rego velha trovas bubo rosa e bubo vidas domo dum cavo trovas rego e flumo kura sekvas arbo
flumo trovas nino
nino vidas arbo ma domo kura trovas flumo ma arbo amas domo ma rego sekvas flumo
vulo peta vidas rego
flumo amas domo dum vulo peta amas bubo ma flumo peta trovas arbo dum bubo peta trovas nino velha
nino kura sekvas arbo peta dum nino trovas nino
vulo kura vidas nino velha
bubo kura sekvas rego rosa e cavo trovas cavo
bubo peta trovas bubo
rego amas domo e cavo vidas arbo velha
cavo trovas domo velha ma domo kura amas arbo kura e arbo rosa sekvas domo ma flumo peta vidas cavo peta e domo peta sekvas vulo
bubo velha vidas flumo kura dum bubo peta trovas nino peta e arbo kura sekvas nino kura
rego vidas cavo
nino trovas vulo dum nino amas arbo kura dum nino peta amas nino velha
nino sekvas cavo e vulo velha trovas arbo e cavo kura vidas flumo rosa
domo velha vidas vulo e flumo sekvas cavo kura
rego vidas arbo velha e flumo amas domo velha
bubo rosa vidas vulo e vulo rosa sekvas nino rosa ma bubo peta amas rego
arbo kura trovas vulo kura dum rego trovas flumo peta dum cavo amas bubo dum bubo sekvas flumo ma bubo sekvas arbo
cavo amas flumo
flumo trovas bubo
arbo peta trovas rego
bubo rosa sekvas flumo kura ma bubo vidas bubo kura
nino velha sekvas nino ma vulo sekvas nino rosa dum arbo velha amas flumo ma nino vidas cavo dum flumo kura amas arbo
flumo peta trovas domo rosa e bubo kura trovas cavo peta e domo velha amas arbo kura e domo kura trovas domo
nino amas arbo ma cavo vidas nino velha e domo vidas flumo rosa
flumo rosa sekvas vulo dum flumo amas rego dum rego sekvas domo
flumo vidas flumo
rego vidas bubo peta ma cavo rosa sekvas flumo ma domo peta sekvas rego peta
cavo sekvas flumo
cavo kura vidas bubo velha
bubo vidas vulo
domo velha vidas arbo peta dum nino kura trovas bubo rosa
flumo vidas flumo ma flumo peta sekvas flumo
domo sekvas rego e domo rosa vidas domo
nino rosa amas nino
flumo amas cavo
flumo amas domo velha ma arbo peta sekvas cavo velha
nino rosa vidas arbo e flumo peta sekvas vulo velha
bubo peta amas rego rosa
domo rosa trovas flumo
rego vidas rego velha
nino velha amas vulo peta ma rego trovas arbo peta e bubo vidas arbo
vulo vidas cavo peta
flumo vidas cavo peta e cavo kura trovas flumo velha
domo sekvas cavo velha
nino sekvas cavo kura dum flumo kura amas rego e bubo peta sekvas vulo kura dum arbo rosa trovas cavo
cavo sekvas nino rosa
cavo peta sekvas vulo e nino peta vidas vulo ma nino velha vidas domo rosa
flumo velha amas nino
cavo rosa trovas cavo velha ma flumo trovas arbo kura ma arbo sekvas nino velha
vulo amas nino dum domo trovas rego rosa ma flumo kura sekvas cavo rosa
domo velha amas flumo peta ma bubo peta sekvas cavo peta dum domo sekvas flumo velha ma rego sekvas rego
cavo kura vidas bubo velha ma rego kura sekvas cavo e cavo rosa vidas flumo
cavo velha vidas rego
vulo vidas flumo e arbo kura vidas nino kura
cavo kura trovas domo rosa ma rego velha sekvas rego dum vulo kura trovas flumo dum vulo vidas nino rosa
arbo velha sekvas rego peta
domo sekvas rego rosa
domo sekvas domo
domo amas nino ma cavo rosa amas rego peta
nino sekvas arbo velha
arbo vidas arbo velha
arbo velha vidas nino peta e cavo amas domo rosa ma bubo sekvas bubo dum arbo vidas rego peta ma arbo kura trovas cavo peta dum domo sekvas domo ma nino rosa trovas nino velha
vulo rosa sekvas bubo
vulo trovas bubo
vulo velha amas arbo kura e flumo sekvas domo dum flumo kura vidas domo rosa e arbo vidas vulo dum cavo amas nino rosa
domo sekvas vulo
rego peta amas flumo rosa dum arbo trovas arbo ma arbo peta vidas rego
vulo amas domo ma bubo velha sekvas flumo ma flumo rosa trovas nino rosa
vulo vidas flumo
flumo sekvas cavo peta dum flumo rosa vidas rego rosa e domo sekvas nino ma flumo kura vidas flumo rosa dum vulo amas nino velha
flumo sekvas rego
arbo peta vidas bubo peta e bubo kura vidas bubo peta
bubo trovas domo velha dum vulo rosa vidas vulo dum vulo amas vulo ma bubo rosa sekvas domo dum cavo velha trovas vulo velha e vulo sekvas arbo
arbo velha trovas bubo e domo peta vidas flumo peta ma vulo vidas cavo e domo trovas flumo dum vulo trovas flumo
rego amas domo velha
domo amas flumo kura e nino amas rego velha dum flumo peta sekvas rego
arbo trovas vulo
vulo rosa vidas cavo peta
bubo kura trovas cavo
domo sekvas nino rosa
flumo velha trovas rego dum arbo trovas flumo ma cavo velha vidas vulo e bubo velha trovas flumo
rego kura vidas nino rosa
bubo trovas arbo
domo velha vidas cavo
nino velha vidas flumo velha e vulo velha sekvas nino e flumo sekvas nino peta
cavo kura trovas bubo
cavo rosa vidas vulo kura e arbo sekvas bubo peta
flumo kura vidas cavo
domo trovas arbo
flumo sekvas arbo velha e vulo sekvas arbo kura ma cavo trovas nino kura
domo vidas rego dum rego sekvas bubo ma domo amas arbo
nino amas arbo
nino vidas bubo dum arbo sekvas domo peta dum flumo vidas domo e flumo peta trovas arbo
vulo vidas rego
vulo peta amas bubo dum rego peta vidas bubo rosa e cavo amas rego rosa e bubo amas cavo e domo vidas arbo peta e arbo amas bubo dum arbo amas nino velha e flumo kura vidas nino peta
bubo peta sekvas nino
nino sekvas nino kura
cavo sekvas cavo
rego kura amas arbo e nino velha trovas rego ma arbo vidas cavo peta ma vulo trovas arbo e flumo velha sekvas cavo rosa
flumo sekvas rego
bubo vidas arbo
rego kura vidas cavo rosa
nino amas cavo
nino rosa vidas domo rosa
cavo peta amas nino e bubo vidas arbo e rego rosa amas cavo kura e arbo trovas arbo rosa ma rego velha vidas nino kura
rego trovas flumo dum domo trovas vulo rosa dum flumo vidas bubo
nino velha amas cavo
domo trovas nino
arbo velha sekvas arbo kura dum domo rosa trovas nino dum rego sekvas bubo rosa
flumo vidas vulo e rego vidas rego
nino rosa trovas bubo kura
bubo rosa vidas rego dum bubo velha trovas bubo peta e vulo vidas arbo e rego peta amas cavo kura ma arbo amas flumo peta e flumo rosa vidas bubo rosa e bubo peta sekvas cavo kura dum nino trovas flumo ma domo trovas flumo peta dum bubo kura vidas nino peta
cavo rosa sekvas cavo rosa
bubo kura trovas bubo e arbo rosa amas rego rosa ma bubo peta vidas domo kura dum flumo velha trovas arbo peta
arbo vidas arbo rosa
flumo trovas flumo ma bubo sekvas cavo
domo amas flumo rosa e cavo trovas cavo kura ma vulo trovas rego peta
bubo peta vidas nino e arbo sekvas arbo peta
rego amas vulo ma nino rosa amas vulo kura
rego trovas nino
vulo rosa amas arbo
rego kura amas rego peta ma vulo sekvas nino velha ma arbo peta sekvas arbo rosa
nino velha vidas bubo kura
arbo kura trovas domo
flumo velha trovas rego kura ma arbo peta amas bubo dum flumo velha sekvas bubo
arbo peta amas vulo rosa
vulo sekvas arbo
arbo rosa vidas cavo kura
vulo velha amas bubo peta e arbo rosa trovas arbo kura
cavo peta sekvas flumo dum flumo trovas domo rosa e vulo vidas arbo ma flumo rosa amas rego peta
domo kura vidas vulo
flumo peta amas domo ma cavo amas vulo kura
vulo trovas flumo ma flumo sekvas cavo peta
nino rosa sekvas vulo
arbo sekvas nino
bubo kura trovas arbo peta
rego sekvas flumo rosa dum flumo velha sekvas vulo dum bubo sekvas cavo dum vulo amas flumo dum domo kura amas cavo ma domo rosa trovas rego peta
arbo peta sekvas rego ma rego peta amas bubo
arbo amas flumo velha
flumo vidas rego velha dum domo amas bubo
arbo rosa vidas flumo kura
arbo peta vidas nino ma cavo trovas bubo kura e cavo kura sekvas cavo rosa
bubo sekvas bubo ma nino trovas rego peta ma flumo peta sekvas bubo kura ma bubo rosa amas cavo
flumo kura sekvas flumo dum arbo rosa amas arbo peta dum domo sekvas bubo velha ma bubo kura vidas arbo
vulo trovas vulo kura ma bubo rosa sekvas cavo velha ma cavo peta sekvas vulo kura e nino amas cavo rosa ma arbo amas vulo velha
arbo amas vulo kura
rego velha sekvas flumo
bubo kura sekvas rego velha
arbo vidas vulo e cavo sekvas domo
domo rosa amas rego
bubo kura vidas flumo velha
vulo velha amas arbo rosa e arbo kura trovas rego dum flumo kura vidas domo peta dum cavo trovas cavo dum rego kura trovas bubo rosa e arbo kura amas bubo dum flumo trovas cavo kura e vulo amas bubo dum bubo velha sekvas rego
rego trovas cavo velha ma nino vidas domo velha e bubo rosa amas arbo kura dum arbo kura vidas cavo e arbo sekvas bubo dum vulo trovas rego dum bubo kura trovas cavo dum arbo velha vidas flumo velha
vulo kura trovas cavo velha
domo velha vidas rego peta
domo peta vidas cavo peta
domo peta vidas domo
vulo amas nino ma arbo vidas domo ma bubo amas flumo velha e domo kura vidas nino rosa e arbo kura sekvas arbo rosa
nino velha vidas cavo dum cavo sekvas arbo e nino amas nino dum nino trovas domo ma cavo amas bubo e arbo sekvas flumo
nino peta vidas cavo ma domo rosa amas bubo dum arbo rosa vidas arbo velha
rego kura vidas vulo rosa ma cavo kura trovas flumo dum nino velha trovas vulo velha
flumo amas nino
rego trovas domo ma cavo vidas nino dum cavo rosa trovas arbo peta e flumo sekvas domo
bubo vidas vulo rosa e rego trovas arbo kura ma rego rosa amas bubo ma cavo kura trovas bubo kura
vulo velha sekvas rego e cavo trovas domo velha e rego vidas vulo velha
cavo vidas bubo
domo kura amas flumo e flumo trovas domo
cavo peta trovas arbo
vulo sekvas nino velha
bubo vidas domo rosa e vulo amas vulo dum cavo rosa amas vulo velha e vulo velha sekvas vulo
nino trovas flumo peta
flumo sekvas rego
flumo rosa trovas nino velha e flumo sekvas nino kura
vulo vidas vulo rosa e flumo peta sekvas nino peta ma nino trovas flumo e nino amas arbo rosa
nino vidas domo peta e arbo kura amas vulo e flumo sekvas flumo peta ma vulo amas nino
domo amas domo peta
arbo kura amas flumo kura e domo sekvas domo
nino rosa sekvas bubo peta ma cavo peta amas domo peta
cavo trovas bubo ma vulo amas flumo e cavo sekvas flumo ma flumo kura sekvas domo
cavo velha vidas cavo velha e vulo velha sekvas cavo
cavo sekvas flumo kura e flumo sekvas cavo e rego trovas arbo ma cavo amas rego rosa e nino peta sekvas vulo kura e cavo rosa trovas rego kura dum nino peta trovas vulo rosa ma cavo trovas flumo e domo vidas nino
cavo rosa trovas arbo ma nino peta vidas bubo
rego velha vidas rego rosa
vulo kura trovas bubo
rego kura sekvas vulo
cavo peta amas vulo rosa ma flumo velha vidas bubo ma domo peta vidas arbo rosa
domo amas arbo rosa
arbo kura amas bubo
cavo rosa vidas domo peta ma flumo kura amas arbo ma flumo trovas domo e nino rosa trovas bubo ma arbo peta trovas vulo
cavo sekvas rego velha ma cavo amas nino rosa dum bubo trovas vulo
domo rosa trovas cavo velha
rego kura amas nino rosa
flumo amas arbo peta dum flumo velha sekvas flumo kura ma domo kura amas bubo peta dum arbo trovas bubo ma vulo sekvas bubo ma domo peta vidas vulo peta dum vulo rosa vidas flumo
nino amas vulo ma cavo amas arbo kura
bubo trovas nino velha e vulo sekvas arbo
bubo sekvas rego kura dum nino vidas vulo rosa
cavo vidas nino
rego sekvas rego ma nino velha trovas nino
flumo sekvas nino kura ma nino velha vidas rego e bubo peta vidas rego peta dum vulo vidas nino ma domo rosa trovas cavo rosa dum vulo trovas rego rosa
cavo amas rego
arbo trovas domo
cavo peta trovas cavo kura
domo vidas domo kura e cavo sekvas bubo e vulo kura amas nino rosa ma vulo rosa trovas arbo
arbo rosa sekvas bubo peta e flumo vidas flumo kura ma bubo rosa trovas arbo rosa
cavo vidas nino ma vulo amas rego
bubo velha vidas cavo e rego kura sekvas nino e vulo rosa sekvas nino kura
domo velha trovas nino ma bubo rosa sekvas rego kura ma arbo velha amas nino dum cavo amas bubo
rego kura vidas domo
cavo vidas nino rosa
domo peta amas arbo velha dum vulo trovas bubo rosa
rego velha trovas domo rosa
cavo sekvas bubo e nino rosa amas rego kura ma cavo trovas arbo
cavo trovas nino peta dum bubo amas arbo
vulo vidas vulo e domo vidas cavo ma vulo sekvas nino peta
rego vidas nino rosa e rego sekvas domo e flumo rosa trovas domo ma flumo rosa amas domo peta
domo sekvas bubo dum rego vidas nino kura ma domo trovas bubo ma domo kura sekvas bubo
bubo trovas domo ma domo amas domo dum nino peta sekvas arbo
rego trovas nino rosa dum vulo kura sekvas domo ma flumo vidas arbo peta ma flumo velha amas bubo ma nino peta vidas flumo kura e cavo peta vidas flumo
vulo peta vidas nino kura
vulo sekvas vulo
arbo trovas vulo ma domo vidas bubo dum bubo sekvas arbo velha e nino velha amas bubo kura ma domo kura amas flumo velha
bubo kura amas arbo rosa ma rego peta amas cavo dum nino vidas nino ma bubo trovas rego rosa
rego sekvas bubo rosa
bubo sekvas bubo velha
domo peta trovas domo e rego amas domo
cavo rosa sekvas vulo dum nino peta amas nino rosa dum vulo peta sekvas arbo rosa
bubo trovas vulo peta dum domo trovas arbo e vulo vidas bubo
flumo velha sekvas domo ma cavo vidas rego rosa
arbo vidas bubo
vulo peta vidas flumo kura dum nino sekvas flumo velha dum vulo trovas rego
nino kura sekvas domo peta dum nino velha sekvas rego ma bubo peta sekvas domo e cavo sekvas arbo velha
arbo amas flumo peta e cavo trovas nino
nino trovas arbo peta dum nino sekvas rego kura ma cavo velha sekvas vulo
flumo peta vidas vulo velha
bubo peta sekvas bubo ma cavo velha amas vulo
cavo kura amas flumo rosa
flumo peta sekvas rego dum nino sekvas flumo
flumo trovas nino velha
cavo peta sekvas arbo kura dum bubo amas flumo velha e bubo peta amas rego
arbo peta vidas vulo e vulo sekvas cavo velha ma arbo velha sekvas domo ma nino vidas arbo
bubo amas domo ma domo amas rego kura
rego velha amas rego e arbo sekvas cavo e nino rosa vidas flumo peta dum flumo amas bubo kura dum flumo velha amas arbo
domo rosa sekvas arbo e rego rosa sekvas cavo kura e rego rosa amas vulo kura
bubo velha vidas vulo kura e cavo velha vidas flumo ma cavo amas bubo
cavo peta sekvas vulo dum bubo amas vulo peta ma nino rosa amas bubo
nino kura amas bubo kura ma vulo kura amas vulo kura
domo rosa amas bubo ma domo peta vidas arbo e domo amas domo dum nino amas bubo kura
domo kura amas vulo dum vulo amas rego
nino vidas cavo e vulo kura sekvas domo
bubo vidas nino
cavo trovas vulo
flumo amas arbo rosa ma rego trovas flumo peta ma flumo vidas flumo rosa
vulo amas nino peta
rego trovas flumo
cavo rosa sekvas vulo kura e bubo kura amas nino peta ma bubo trovas flumo kura
nino rosa amas bubo ma bubo sekvas rego
rego kura vidas domo kura ma bubo rosa vidas rego
domo velha sekvas flumo velha
bubo kura trovas cavo velha dum cavo rosa sekvas flumo e flumo rosa amas cavo velha ma arbo kura amas nino
flumo trovas domo rosa
nino vidas cavo dum domo sekvas cavo ma domo trovas nino rosa ma flumo amas bubo
nino vidas nino dum rego rosa vidas domo
rego kura sekvas nino e cavo vidas flumo
arbo sekvas vulo ma arbo sekvas arbo peta ma nino amas flumo peta
rego sekvas cavo velha dum vulo sekvas arbo velha dum domo velha trovas nino
rego velha vidas vulo
rego rosa amas bubo peta dum vulo amas bubo
domo velha amas flumo ma flumo amas bubo peta ma vulo sekvas rego velha dum domo sekvas rego velha ma bubo vidas nino e arbo peta trovas flumo velha
cavo vidas flumo peta
vulo peta sekvas nino
arbo peta vidas arbo e arbo velha amas vulo rosa
domo kura vidas nino e flumo vidas domo e cavo kura sekvas bubo
vulo velha vidas arbo rosa ma bubo peta sekvas nino dum vulo amas nino
flumo amas vulo
cavo amas arbo velha e cavo trovas nino
arbo sekvas cavo velha
vulo trovas arbo ma nino rosa amas nino
nino sekvas bubo ma cavo peta amas nino rosa
vulo rosa sekvas domo velha ma rego peta sekvas bubo rosa ma domo trovas bubo peta e bubo velha trovas rego peta e cavo rosa trovas arbo ma arbo rosa vidas domo rosa ma domo peta amas nino ma flumo trovas cavo e rego vidas domo e nino sekvas vulo peta
bubo amas cavo velha dum domo vidas vulo peta dum rego trovas vulo rosa dum domo vidas bubo kura ma flumo vidas rego velha dum bubo trovas flumo e cavo rosa sekvas vulo kura e arbo kura amas rego dum cavo kura trovas bubo velha ma cavo amas rego
vulo amas arbo
arbo trovas flumo peta dum cavo vidas rego
flumo rosa trovas cavo rosa
nino rosa vidas cavo ma bubo amas rego rosa dum arbo rosa trovas vulo
arbo peta vidas bubo
vulo kura vidas cavo
bubo velha amas domo dum cavo trovas cavo velha e nino peta sekvas vulo rosa ma domo sekvas vulo peta e bubo peta vidas arbo e arbo trovas flumo ma cavo trovas vulo peta
cavo sekvas vulo
arbo peta vidas bubo velha
nino sekvas rego ma nino kura vidas cavo
cavo kura amas domo ma nino kura sekvas arbo
rego vidas flumo
rego kura amas domo velha ma rego trovas bubo dum bubo sekvas flumo velha e nino velha trovas cavo dum arbo vidas rego velha
arbo peta vidas domo ma flumo velha sekvas bubo velha ma vulo amas rego
rego amas cavo rosa ma nino peta vidas domo peta dum nino vidas domo dum cavo peta vidas bubo e bubo amas arbo dum cavo sekvas cavo velha
vulo peta trovas rego peta
cavo rosa amas cavo dum vulo trovas arbo peta dum bubo amas domo dum cavo vidas vulo peta dum domo peta trovas nino e rego vidas vulo peta
cavo vidas arbo peta dum cavo rosa vidas flumo peta
arbo trovas bubo ma bubo vidas flumo
flumo vidas flumo dum flumo sekvas domo peta e arbo kura amas arbo ma nino velha sekvas cavo rosa dum nino sekvas rego rosa
rego vidas vulo peta ma flumo kura sekvas domo peta ma domo amas vulo rosa dum nino vidas rego
vulo peta sekvas bubo
domo trovas arbo velha
cavo peta sekvas vulo peta e domo kura trovas bubo dum domo rosa sekvas domo
arbo rosa trovas nino rosa ma bubo sekvas rego
domo peta sekvas flumo
vulo peta amas flumo velha
flumo kura trovas arbo ma arbo trovas nino velha dum arbo trovas bubo kura
bubo velha trovas rego dum rego vidas nino kura ma arbo trovas domo rosa e flumo peta sekvas rego peta ma vulo peta sekvas vulo velha
nino trovas domo peta dum vulo velha amas domo rosa e flumo kura sekvas vulo kura ma domo rosa sekvas domo e cavo amas domo dum arbo peta vidas vulo kura e nino amas vulo kura
rego rosa amas cavo
flumo rosa trovas nino
flumo rosa sekvas vulo kura
rego trovas cavo peta ma cavo sekvas flumo ma arbo kura amas flumo ma flumo vidas nino velha
domo vidas arbo peta e arbo trovas rego
flumo sekvas nino dum cavo vidas vulo rosa
bubo sekvas domo
nino amas flumo dum nino peta trovas nino rosa
arbo kura amas flumo rosa
nino rosa trovas domo peta
rego kura sekvas nino velha
vulo amas rego e bubo trovas cavo velha ma vulo kura amas nino
nino peta amas arbo dum cavo sekvas bubo dum nino rosa trovas arbo
flumo trovas flumo
nino kura sekvas domo kura
bubo sekvas domo peta ma cavo velha sekvas flumo e flumo peta sekvas nino rosa
nino rosa trovas cavo kura e nino rosa trovas flumo kura
bubo peta amas rego e cavo peta amas flumo
cavo amas flumo ma nino trovas rego rosa dum bubo peta vidas flumo
bubo kura trovas domo velha
domo amas nino
nino rosa vidas bubo
flumo sekvas flumo peta dum vulo amas flumo
cavo rosa amas domo kura dum rego rosa sekvas rego velha ma flumo rosa vidas rego
vulo amas cavo
flumo kura trovas vulo rosa dum nino rosa trovas domo peta
bubo rosa sekvas cavo
cavo velha vidas domo e cavo kura sekvas rego rosa e vulo vidas cavo kura
nino sekvas bubo ma nino vidas flumo ma nino trovas rego
rego kura trovas cavo
cavo trovas bubo
rego amas arbo peta e flumo sekvas vulo peta ma arbo peta vidas cavo ma cavo sekvas cavo ma vulo vidas bubo peta
flumo vidas flumo velha e rego velha amas domo rosa ma domo velha vidas cavo kura
vulo vidas nino velha dum domo vidas bubo kura
arbo rosa amas rego velha
nino kura amas nino
flumo trovas domo
cavo peta vidas rego peta
bubo rosa trovas nino
cavo vidas bubo
flumo rosa amas domo kura ma arbo trovas rego rosa e domo rosa trovas flumo kura dum nino rosa sekvas bubo
cavo trovas cavo dum nino vidas cavo peta
bubo rosa trovas bubo dum rego rosa vidas arbo rosa
nino vidas flumo
arbo velha sekvas vulo velha ma domo kura sekvas rego rosa dum domo kura sekvas cavo
domo rosa trovas cavo kura
cavo sekvas arbo velha ma rego vidas flumo e nino amas flumo rosa
rego sekvas rego
rego sekvas bubo dum vulo sekvas arbo e arbo rosa sekvas arbo e domo amas cavo kura e domo velha sekvas nino dum cavo peta vidas vulo kura ma arbo rosa amas rego dum domo vidas rego velha dum cavo peta sekvas cavo e cavo amas cavo rosa ma domo amas cavo
vulo vidas bubo kura e vulo rosa vidas arbo dum flumo sekvas vulo kura ma flumo trovas flumo rosa
domo rosa trovas bubo rosa e flumo vidas cavo
bubo kura vidas vulo velha dum nino amas arbo dum vulo kura sekvas flumo rosa
rego trovas bubo ma domo peta trovas bubo peta
arbo trovas nino e flumo amas cavo
flumo amas flumo kura
cavo kura trovas vulo ma bubo vidas rego dum domo kura vidas flumo peta e arbo rosa sekvas rego dum nino vidas bubo
domo rosa amas cavo ma cavo velha sekvas bubo velha
bubo amas flumo velha
vulo vidas cavo rosa
arbo kura amas cavo kura
cavo trovas arbo velha e cavo sekvas rego
flumo trovas domo rosa
bubo trovas arbo ma arbo sekvas nino rosa ma flumo rosa vidas cavo velha dum domo amas flumo
vulo sekvas nino e rego rosa vidas vulo velha
nino vidas cavo
cavo vidas flumo ma flumo amas vulo velha e flumo velha vidas rego
domo velha trovas arbo rosa
arbo trovas flumo
domo rosa vidas vulo peta ma arbo vidas domo peta e arbo sekvas cavo
domo rosa amas cavo
arbo trovas vulo peta e vulo kura trovas nino kura ma vulo peta vidas flumo
arbo kura vidas flumo rosa
arbo vidas nino peta
domo rosa sekvas rego peta
nino rosa trovas nino ma bubo amas domo rosa
nino vidas nino rosa
domo amas domo ma rego sekvas domo dum vulo rosa vidas rego rosa ma bubo kura trovas arbo
domo peta sekvas vulo rosa e cavo rosa vidas domo rosa e vulo vidas flumo ma domo trovas bubo
cavo amas nino e vulo amas domo peta e bubo amas flumo peta
bubo vidas flumo
domo trovas domo rosa dum rego velha amas cavo kura ma nino peta trovas bubo rosa
rego amas cavo velha e flumo rosa trovas nino peta
domo trovas domo ma domo kura trovas cavo peta e flumo rosa trovas bubo peta
arbo velha trovas nino dum vulo vidas domo ma domo velha sekvas nino peta
domo kura amas vulo
flumo kura sekvas cavo peta
cavo rosa vidas arbo ma rego kura amas rego rosa dum nino trovas bubo ma rego sekvas flumo peta e domo trovas cavo peta e vulo sekvas domo e vulo sekvas vulo kura ma arbo kura sekvas rego dum bubo kura sekvas domo velha
nino kura trovas flumo peta
flumo kura vidas arbo ma flumo rosa vidas nino kura
domo trovas bubo ma cavo amas vulo rosa dum rego sekvas cavo e vulo amas cavo
rego vidas rego ma vulo kura trovas flumo velha ma arbo amas arbo
vulo trovas cavo peta
cavo amas vulo
rego rosa amas nino e bubo peta vidas flumo
vulo peta trovas arbo
nino velha vidas cavo ma bubo amas flumo
vulo trovas vulo velha
arbo amas bubo kura dum arbo velha vidas flumo dum bubo peta vidas cavo
vulo sekvas cavo velha dum domo vidas flumo ma flumo vidas vulo peta ma domo velha trovas rego dum nino trovas domo dum bubo rosa sekvas cavo dum domo vidas vulo e bubo velha amas rego peta
bubo peta sekvas vulo rosa dum domo peta vidas vulo rosa e flumo peta vidas bubo kura e vulo vidas cavo
domo amas nino ma flumo peta sekvas flumo peta
cavo amas nino velha e flumo amas rego e cavo kura trovas arbo
flumo peta sekvas rego kura e vulo rosa amas vulo
domo vidas bubo kura ma vulo rosa amas bubo peta
cavo trovas bubo kura
bubo kura trovas arbo rosa ma bubo peta amas flumo velha
nino amas flumo
arbo amas cavo velha
nino peta vidas domo velha dum cavo rosa vidas domo velha
arbo rosa trovas rego ma flumo sekvas flumo
bubo kura trovas cavo rosa dum flumo peta amas domo
flumo peta trovas cavo kura dum arbo rosa amas domo
flumo rosa sekvas cavo e vulo peta sekvas bubo ma vulo rosa sekvas domo e flumo sekvas cavo dum flumo kura sekvas vulo velha
flumo amas arbo rosa
domo rosa vidas arbo peta
arbo kura vidas bubo e cavo sekvas rego ma domo kura trovas nino dum domo sekvas bubo ma rego kura sekvas arbo
vulo velha trovas bubo kura ma arbo vidas nino
bubo kura sekvas flumo
flumo kura sekvas flumo
domo vidas arbo kura
vulo kura amas cavo velha ma nino amas rego kura
cavo rosa sekvas cavo kura
nino vidas cavo velha
domo trovas rego velha e cavo rosa vidas flumo velha dum nino vidas vulo peta dum domo vidas flumo
arbo rosa sekvas vulo rosa
rego peta trovas arbo dum flumo velha amas bubo
bubo trovas domo
domo vidas nino kura
domo vidas bubo peta
flumo vidas arbo kura ma rego rosa amas domo e arbo peta vidas nino ma bubo sekvas flumo peta e nino kura amas rego rosa
cavo velha sekvas domo kura dum rego sekvas rego rosa
cavo peta amas flumo
bubo sekvas vulo dum arbo kura trovas bubo velha e rego rosa trovas domo rosa e rego trovas domo velha dum cavo velha sekvas flumo dum domo peta vidas arbo rosa ma domo velha trovas rego velha
arbo vidas domo dum nino velha vidas bubo e flumo kura sekvas bubo velha dum vulo velha trovas rego kura
nino trovas arbo
domo vidas domo e bubo kura vidas domo e arbo amas vulo rosa
rego sekvas nino velha dum bubo velha trovas cavo peta
cavo peta trovas bubo rosa dum domo kura vidas cavo peta dum bubo velha amas nino
bubo peta sekvas vulo
cavo rosa trovas cavo
flumo peta trovas domo ma rego sekvas arbo kura dum flumo rosa sekvas bubo ma bubo velha vidas flumo kura
arbo vidas domo rosa e flumo velha vidas flumo kura
bubo trovas vulo velha
arbo amas bubo velha e flumo trovas arbo ma vulo peta sekvas flumo
cavo trovas cavo
vulo peta vidas flumo kura dum nino amas nino ma rego trovas bubo
nino trovas domo peta dum arbo peta amas nino
nino peta sekvas domo dum arbo kura trovas flumo kura dum arbo rosa trovas bubo
domo amas rego kura
cavo amas cavo velha
flumo amas bubo rosa dum rego trovas cavo peta e flumo kura vidas arbo e cavo kura trovas domo velha dum vulo peta amas bubo
bubo peta trovas bubo velha dum bubo rosa sekvas domo e flumo rosa trovas bubo ma domo vidas domo ma vulo peta sekvas nino peta
domo vidas bubo kura dum rego trovas nino velha dum domo sekvas arbo
vulo rosa sekvas vulo
rego vidas cavo
domo rosa vidas rego rosa dum nino sekvas arbo velha
vulo peta amas cavo e flumo vidas bubo kura
vulo velha sekvas cavo kura ma bubo rosa sekvas nino dum domo peta trovas domo dum rego sekvas rego rosa e domo rosa sekvas bubo kura ma vulo rosa vidas flumo dum bubo trovas vulo kura dum bubo velha trovas cavo rosa e bubo rosa vidas domo
rego trovas bubo ma flumo vidas flumo kura
bubo kura amas arbo velha ma arbo trovas flumo velha
cavo trovas bubo kura
nino velha vidas bubo e cavo amas cavo
flumo trovas vulo velha
bubo velha vidas flumo e arbo trovas bubo rosa dum cavo velha trovas flumo ma arbo sekvas bubo e nino vidas flumo kura dum arbo sekvas cavo
flumo sekvas vulo kura ma flumo trovas rego peta e cavo kura trovas arbo kura ma vulo sekvas bubo
arbo sekvas nino rosa dum rego peta trovas cavo rosa
rego trovas domo e bubo sekvas domo velha dum vulo sekvas nino e arbo amas rego kura dum domo peta vidas cavo velha ma arbo amas arbo peta
rego rosa sekvas flumo
cavo vidas cavo e rego rosa vidas vulo dum domo sekvas nino kura e cavo kura sekvas nino
rego vidas nino kura dum flumo amas arbo velha e cavo trovas arbo rosa e rego amas arbo rosa dum nino vidas bubo peta
flumo rosa sekvas flumo rosa ma cavo rosa amas flumo
flumo trovas cavo ma domo vidas bubo kura dum rego rosa vidas nino
flumo sekvas arbo ma flumo peta trovas rego peta dum bubo amas nino
bubo vidas arbo peta dum vulo trovas bubo ma flumo rosa sekvas bubo e vulo peta amas nino rosa dum domo sekvas flumo
domo peta trovas flumo
domo amas cavo
rego trovas domo ma domo rosa amas rego dum flumo vidas vulo ma rego sekvas vulo dum arbo kura amas rego kura ma vulo velha trovas nino peta
bubo trovas arbo velha e domo velha trovas vulo velha
rego rosa sekvas rego velha
nino rosa sekvas arbo kura
domo sekvas flumo ma rego sekvas domo e vulo trovas flumo velha
bubo vidas cavo peta ma cavo vidas nino rosa e nino peta sekvas rego peta e vulo sekvas domo e domo rosa trovas domo ma bubo peta amas domo kura ma nino trovas vulo rosa
nino rosa vidas arbo e vulo vidas arbo peta e cavo velha trovas rego kura
arbo trovas vulo
arbo peta amas flumo
domo velha sekvas vulo ma arbo rosa amas rego rosa
arbo rosa trovas arbo dum flumo amas cavo rosa ma domo kura sekvas domo
cavo velha vidas cavo rosa ma vulo trovas domo
bubo amas rego
arbo trovas vulo
nino velha trovas arbo kura
domo peta vidas arbo e flumo sekvas bubo e arbo rosa trovas rego kura
bubo peta sekvas flumo rosa
vulo rosa vidas bubo peta dum domo rosa trovas cavo e bubo vidas domo peta
vulo peta vidas arbo e arbo kura trovas cavo velha
rego sekvas domo velha
domo peta trovas bubo velha e rego peta trovas vulo velha
bubo velha trovas nino dum vulo rosa sekvas flumo
cavo rosa sekvas rego kura
cavo kura vidas flumo peta e cavo amas nino e bubo amas vulo
rego amas flumo kura dum rego amas domo velha e bubo vidas rego e flumo rosa trovas vulo peta dum domo trovas flumo peta dum nino sekvas flumo
cavo sekvas domo e arbo amas flumo dum flumo peta vidas arbo e nino velha vidas cavo
rego kura trovas domo dum nino kura trovas flumo
vulo velha amas bubo kura
vulo amas vulo rosa
arbo sekvas flumo
nino vidas arbo dum vulo peta vidas nino kura e rego velha vidas bubo velha ma arbo vidas rego
domo kura vidas rego kura dum domo trovas vulo
flumo amas nino dum vulo amas vulo velha
vulo sekvas flumo velha
flumo amas bubo velha dum flumo amas domo ma cavo vidas cavo e bubo velha vidas flumo ma domo peta sekvas domo peta e vulo vidas nino velha ma bubo rosa amas rego rosa
flumo amas bubo rosa e bubo peta vidas flumo dum arbo rosa amas bubo e flumo trovas bubo velha
bubo peta vidas bubo kura
nino amas flumo peta
nino trovas vulo rosa
flumo peta sekvas rego rosa
vulo amas flumo e arbo kura amas vulo velha ma bubo sekvas cavo
flumo trovas cavo dum bubo amas arbo
bubo kura sekvas cavo dum arbo trovas cavo peta dum vulo vidas nino rosa
cavo velha vidas vulo peta
bubo amas arbo peta dum nino sekvas rego e bubo vidas flumo kura e bubo trovas domo e flumo velha sekvas cavo velha ma domo velha vidas cavo peta dum bubo kura amas domo e flumo vidas arbo e nino rosa trovas rego velha ma rego amas vulo dum rego rosa sekvas cavo velha
domo amas domo rosa
rego amas cavo velha
cavo vidas rego dum rego velha vidas rego ma nino rosa trovas bubo dum domo peta vidas vulo
domo velha trovas cavo velha
arbo vidas domo peta
domo velha sekvas nino e rego trovas arbo velha
flumo rosa sekvas arbo velha e arbo trovas rego e nino vidas bubo
domo trovas vulo rosa dum nino peta vidas vulo velha
nino peta sekvas flumo
flumo amas bubo e arbo amas rego velha
rego peta sekvas vulo
rego peta sekvas bubo velha dum cavo kura vidas rego peta e rego sekvas rego
cavo rosa sekvas domo velha
vulo rosa amas nino
nino peta trovas rego
vulo amas domo peta ma vulo rosa amas domo peta dum flumo amas cavo kura dum vulo vidas rego kura
rego peta vidas cavo peta e bubo peta vidas bubo
rego velha trovas arbo rosa e cavo amas rego velha ma flumo trovas flumo
nino amas cavo peta dum rego peta sekvas arbo e vulo velha amas flumo velha ma nino rosa sekvas vulo
cavo trovas bubo dum arbo peta vidas bubo rosa e vulo amas vulo kura
arbo amas bubo e flumo velha trovas vulo kura
nino vidas vulo velha
rego amas flumo peta e nino trovas flumo kura
rego vidas arbo rosa ma bubo peta sekvas bubo rosa
rego peta trovas arbo kura
domo rosa sekvas rego
bubo amas flumo
arbo vidas vulo e nino velha sekvas cavo velha e domo rosa vidas domo rosa e arbo sekvas arbo e arbo kura sekvas domo peta ma vulo rosa sekvas vulo dum rego sekvas bubo rosa dum bubo kura amas cavo velha dum arbo peta sekvas domo velha e rego velha vidas bubo
nino kura sekvas cavo ma vulo rosa trovas arbo
rego kura vidas flumo
domo trovas flumo kura ma vulo amas vulo kura
nino trovas arbo rosa
flumo sekvas domo ma vulo rosa trovas cavo
bubo amas nino kura dum rego sekvas rego peta
rego amas vulo e arbo vidas domo velha ma cavo kura amas nino kura
bubo rosa amas flumo kura ma bubo velha sekvas vulo rosa ma vulo vidas domo rosa e nino peta trovas domo kura
bubo sekvas bubo ma domo peta trovas nino e nino rosa amas nino
cavo amas nino velha e vulo amas vulo kura dum bubo trovas cavo dum nino trovas vulo peta e flumo velha trovas arbo
flumo rosa trovas bubo rosa ma domo vidas cavo peta
cavo trovas flumo rosa
rego trovas bubo ma cavo sekvas vulo kura ma domo velha trovas rego kura
bubo amas domo ma arbo amas nino kura
flumo velha trovas domo rosa dum nino trovas cavo rosa ma flumo trovas domo
domo peta amas cavo velha e arbo amas cavo kura dum domo trovas domo
arbo trovas flumo kura
arbo velha trovas flumo
bubo vidas arbo ma rego amas domo rosa dum rego vidas rego rosa
nino velha amas rego dum bubo amas flumo peta e rego sekvas flumo dum vulo peta trovas vulo dum arbo trovas nino e flumo sekvas flumo velha e rego vidas nino peta dum bubo trovas domo
nino amas nino velha e bubo velha vidas arbo kura e flumo peta sekvas arbo rosa
cavo trovas bubo
cavo sekvas domo
arbo vidas cavo peta
nino vidas arbo rosa e flumo amas arbo peta ma vulo sekvas rego
vulo velha sekvas flumo kura
nino peta sekvas bubo
nino trovas arbo
cavo peta vidas rego
arbo kura trovas vulo dum flumo trovas nino rosa e nino peta amas arbo kura dum cavo kura trovas cavo dum flumo rosa sekvas arbo rosa
flumo velha amas arbo ma rego trovas arbo
flumo sekvas arbo e domo peta sekvas arbo kura
flumo kura amas nino rosa dum flumo velha sekvas flumo
domo peta vidas nino rosa ma flumo sekvas arbo e arbo rosa vidas vulo velha
